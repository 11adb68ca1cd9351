"""What a server's log looks like: lines of text, or a JSON object a line.

{"time": "2026-01-01T00:00:00.000Z", "level": "WARNING", "logger": "millstream.engine.supervisor",
 "thread": "supervisor", "message": "query CSAS_BIG_1 failed, next try in 15 s: …", "query": "CSAS_BIG_1"}
"""

import json
import logging
import math
from datetime import UTC, datetime

TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class JsonLines(logging.Formatter):
    """A log record as a JSON object; `query` where it is about one, `error` where it has an exception's stack."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
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
    """For the logger of a Kafka client: passes a message only if none of its kind was passed in the last seconds.

    The kind is the message's first word: FAIL [rdkafka#consumer-2] … Connection refused.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds
        self._passed: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """See logging.Filter."""
        kind = record.getMessage().partition(" ")[0]
        if record.created - self._passed.get(kind, -math.inf) < self._seconds:
            return False
        self._passed[kind] = record.created
        return True


def log_to_stderr(level: int, is_json: bool) -> None:
    """Write this process's log to standard error from now on."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if is_json else logging.Formatter(TEXT))
    logging.basicConfig(level=level, handlers=[handler])
