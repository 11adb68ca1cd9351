"""One setting: its name, default, scope, and the values that it may have."""

from dataclasses import dataclass
from enum import Enum

from millstream.model.setting_kinds import ValueKind


class SettingScope(Enum):
    """What a property configures. As in ksqlDB, SHOW PROPERTIES lists properties of Kafka Streams as KSQL, too."""

    KSQL = "KSQL"
    STREAMS = "KAFKA STREAMS"
    OWN = "MILLSTREAM"


@dataclass(frozen=True, slots=True)
class Setting:
    """One property.

    `editable`: a session may set it; `valid`: the kind of its values; `alterable`: ALTER SYSTEM may set it, since
    everything that reads it reads it when it is used.
    """

    name: str
    default: str
    doc: str
    scope: SettingScope
    editable: bool
    secret: bool
    valid: ValueKind
    alterable: bool = False

    def stored(self, value: object) -> str | None:
        """A value in its stored form; None if it is not valid."""
        return self.valid.read(text_of(value)) if isinstance(value, str | bool | int | float) else None


def text_of(value: object) -> str:
    """A property's value as text: booleans in lower case, None as ""."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
