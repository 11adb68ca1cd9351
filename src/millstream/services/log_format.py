"""The format of a server's log: lines of text, or one JSON object a line.

{"time": "2026-01-01T00:00:00.000Z", "level": "WARNING", "logger": "millstream.engine.supervisor",
 "thread": "supervisor", "message": "query CSAS_BIG_1 failed, next try in 15 s: …", "query": "CSAS_BIG_1"}
"""

import json
import logging
import math
from datetime import UTC, datetime

# How librdkafka ends such a message.
COORDINATOR_LOADING = "Coordinator load in progress: retrying"
TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class JsonLines(logging.Formatter):
    """Formats a log record as a JSON object; `query` and `error` (a stack trace) are present only if they apply."""

    def format(self, record: logging.LogRecord) -> str:
        """The JSON text of a record, without a line break; its time is in UTC, in milliseconds."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        query, error = getattr(record, "query", ""), record.exc_info and self.formatException(record.exc_info)
        entry = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "thread": record.threadName,
            "message": record.getMessage(),
            **({"query": query} if query else {}),
            **({"error": error} if error else {}),
        }
        return json.dumps(entry, ensure_ascii=False)


class OncePerKind(logging.Filter):
    """A rate limit for the logger of a Kafka client: it lets one message of a kind through in `seconds`.

    A coordinator that is loading, because its broker has just started, is not logged: the client asks it again.

    The kind is the message's first word, FAIL in "FAIL [rdkafka#consumer-2] … Connection refused".
    """

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds
        self._passed: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """True if the record is to be logged."""
        message = record.getMessage()
        if message.endswith(COORDINATOR_LOADING):
            return False
        kind = message.partition(" ")[0]
        # After the clock was set back, the last message of the kind is in the future.
        if 0 <= record.created - self._passed.get(kind, -math.inf) < self._seconds:
            return False
        self._passed[kind] = record.created
        return True


def log_to_stderr(level: int, is_json: bool) -> None:
    """Configure the root logger to write to standard error, from `level` on, as JSON lines if `is_json`."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if is_json else logging.Formatter(TEXT))
    logging.basicConfig(level=level, handlers=[handler])
