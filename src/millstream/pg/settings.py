"""Postgres's own settings, which clients set and show: stored in the session; only statement_timeout has an effect."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version

# The version that clients see; their catalog queries depend on it.
VERSION = "15.0"
VERSION_TEXT = f"PostgreSQL {VERSION} (millstream {version('millstream')})"
# The settings that a server reports at the start of a session, and when they change.
REPORTED = (
    "server_version",
    "server_encoding",
    "client_encoding",
    "application_name",
    "default_transaction_read_only",
    "in_hot_standby",
    "is_superuser",
    "session_authorization",
    "DateStyle",
    "IntervalStyle",
    "TimeZone",
    "integer_datetimes",
    "standard_conforming_strings",
)
DEFAULTS: Mapping[str, str] = {
    "server_version": VERSION,
    "server_version_num": "150000",
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "application_name": "",
    "default_transaction_read_only": "off",
    "in_hot_standby": "off",
    "is_superuser": "off",
    "session_authorization": "",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "search_path": "public",
    "transaction_isolation": "read committed",
    "default_transaction_isolation": "read committed",
    "transaction_read_only": "off",
    "transaction_deferrable": "off",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "client_min_messages": "notice",
    "max_identifier_length": "63",
    "max_index_keys": "32",
    "block_size": "8192",
    "ssl": "off",
    "jit": "off",
    "row_security": "off",
    "lc_collate": "C",
    "lc_ctype": "C",
}
# The settings of output formats, with the only value of each that the server supports.
FIXED: Mapping[str, frozenset[str]] = {
    "client_encoding": frozenset({"utf8", "utf-8", "unicode", "sql_ascii"}),
    "standard_conforming_strings": frozenset({"on", "true", "1", "yes"}),
    "bytea_output": frozenset({"hex"}),
}
# Times are written with their offset, +00, so that a client in any zone reads the right moment.
UNCHANGED = frozenset({"client_encoding", "timezone", "datestyle", "intervalstyle", "server_version", "is_superuser"})


@dataclass(frozen=True, slots=True)
class SessionIdentity:
    """The session, for the catalog's functions: current_user, pg_backend_pid(), current_setting(…)."""

    user: str
    process: int
    settings: Mapping[str, str]


class PgSettings:
    """A session's settings by name, in any case; one that is unknown can be set if its name has a dot."""

    def __init__(self) -> None:
        self._names = {name.lower(): name for name in DEFAULTS}
        self._values = {name.lower(): value for name, value in DEFAULTS.items()}

    def get(self, name: str) -> str | None:
        """The value; None if there is no such setting."""
        return self._values.get(name.lower())

    def is_known(self, name: str) -> bool:
        """True if there is such a setting."""
        return name.lower() in self._values

    def put(self, name: str, value: str) -> None:
        """Set one; those of output formats keep their value."""
        if name.lower() not in UNCHANGED:
            self._values[name.lower()] = value

    def reset(self, name: str | None = None) -> None:
        """Set one, or all, to the default; the session's identity stays."""
        for spelled, value in DEFAULTS.items():
            if spelled not in ("session_authorization",) and (name is None or spelled.lower() == name.lower()):
                self._values[spelled.lower()] = value

    def all(self) -> list[tuple[str, str]]:
        """Names and values in order of the names."""
        return sorted((self._names.get(name, name), value) for name, value in self._values.items())


_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(us|ms|s|min|h|d|)\s*\Z")
_UNITS = {"us": 1e-6, "ms": 1e-3, "": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def duration_seconds(text: str) -> float | None:
    """The seconds of a duration as Postgres writes it, `500`, `500ms`, `1.5 s`, `2min`; None for another text."""
    match = _DURATION.match(text)
    return float(match[1]) * _UNITS[match[2]] if match else None


def is_stored_setting(name: str, value: str) -> bool:
    """True if a value can be set: most settings have no effect here, but some values would ask for another encoding."""
    if name.lower() == "statement_timeout" and value.upper() != "DEFAULT":
        return duration_seconds(value) is not None
    allowed = FIXED.get(name.lower())
    return allowed is None or value.lower() in allowed
