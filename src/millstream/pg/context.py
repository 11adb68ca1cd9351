"""The shared state of the Postgres connections of one server."""

from dataclasses import dataclass, field
from ssl import SSLContext

from millstream.engine.api import Engine
from millstream.pg.catalog_images import CatalogImages
from millstream.security.audit import AuditLog
from millstream.security.login import Login
from millstream.server.context import ServerContext
from millstream.server.feed import Feeds
from millstream.server.options import RequestLimits
from millstream.server.workers import Workers

# Threads that end queries, so that ending one does not wait for the statements that run; threads that hash passwords;
# threads for catalog queries; one thread for the audit.
ENDINGS, HASHES, CATALOGS, AUDITS = 50, 2, 2, 1


@dataclass(frozen=True)
class PgContext:
    """The engine, the threads and running queries that the REST API uses too, and the rules for logins."""

    server: ServerContext
    login: Login | None = None
    tls: SSLContext | None = None
    endings: Workers = field(default_factory=lambda: Workers(ENDINGS))
    hashes: Workers = field(default_factory=lambda: Workers(HASHES))
    catalogs: Workers = field(default_factory=lambda: Workers(CATALOGS))
    audits: Workers = field(default_factory=lambda: Workers(AUDITS))
    images: CatalogImages = field(default_factory=CatalogImages)

    @property
    def engine(self) -> Engine:
        """The engine that executes statements."""
        return self.server.engine

    @property
    def statements(self) -> Workers:
        """The threads that run statements."""
        return self.server.workers

    @property
    def feeds(self) -> Feeds:
        """The running queries, which a stop of the server ends."""
        return self.server.feeds

    @property
    def limits(self) -> RequestLimits:
        """The limits of requests and messages, in bytes and seconds."""
        return self.server.limits

    @property
    def audit(self) -> AuditLog | None:
        """The audit log; None if there is none."""
        return self.server.audit
