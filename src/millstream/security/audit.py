"""The audit log: who sent which statement, from where, and with what end, a line of JSON for each request.

    {"time": "2026-11-22T04:15:00.123Z", "user": "ann", "from": "10.0.0.7:41234", "path": "/ksql", "statement":
     "DROP STREAM orders;", "status": 403, "error": "user ann lacks the right write …", "ms": 3}

The file is renamed to FILE.1 when it has its size, FILE.1 to FILE.2, and the last is deleted.
"""

import json
import logging
import re
from collections.abc import Mapping
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from millstream.services.errors import SetupError

log = logging.getLogger(__name__)
LONGEST = 10_000
SECRET = re.compile(
    r"('[^']*(?:password|secret|credential|jaas|token|user\.info)[^']*'\s*=\s*)'(?:[^']|'')*'", re.IGNORECASE
)


class AuditLog:
    """Writes entries to a file that is kept below a size, and `files` older ones."""

    def __init__(self, path: Path, max_bytes: int, files: int) -> None:
        """Raises SetupError where the file cannot be written."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._handler = RotatingFileHandler(path, maxBytes=max_bytes, backupCount=files, encoding="utf-8")
        except OSError as error:
            raise SetupError(f"cannot write the audit log {path}: {error.strerror}") from error
        path.chmod(0o600)

    def write(self, entry: Mapping[str, Any]) -> None:
        """Append an entry; a failure is logged, and the request that it is about goes on. Blocks."""
        line = json.dumps(entry, ensure_ascii=False)
        self._handler.handle(logging.LogRecord("audit", logging.INFO, "", 0, line, None, None))


def shown(statement: str) -> str:
    """A statement as the log keeps it: without the values of secret properties, and not endless."""
    text = SECRET.sub(r"\1'***'", statement)
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
