"""The table of all formats by name (FORMATS), and what depends on the format of a given side."""

from millstream.catalog.catalog import Serde
from millstream.formats.base import Format
from millstream.formats.delimited import DELIMITED
from millstream.formats.json import JSON
from millstream.formats.kafka import KAFKA
from millstream.formats.none import NONE
from millstream.formats.registered import AVRO, JSON_SR, PROTOBUF, PROTOBUF_NOSR

__all__ = ["FORMATS", "Format", "find", "is_wrapped"]

FORMATS = {f.name: f for f in (AVRO, DELIMITED, JSON, JSON_SR, KAFKA, NONE, PROTOBUF, PROTOBUF_NOSR)}


def find(name: str) -> Format | None:
    """The format of a name in any case; None if there is none."""
    return FORMATS.get(name.upper())


def is_wrapped(serde: Serde, columns: int) -> bool:
    """True if this number of columns of a side is written inside a record."""
    return FORMATS[serde.format].wrapped(columns, serde.wrap)
