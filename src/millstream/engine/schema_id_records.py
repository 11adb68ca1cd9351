"""Records behind schema ids, as PRINT shows them: which format they are in, and their JSON text."""

from millstream.catalog.catalog import Serde
from millstream.catalog.schemas import PhysicalSchema, RegisteredSchema
from millstream.engine.schemas import RegistryAccess
from millstream.formats.spec import spec
from millstream.formats.translation import TRANSLATORS, columns
from millstream.model.schema import Column
from millstream.spark.codec import OneRecord, UnreadableRecord, one_record

FORMATS = {TRANSLATORS[name].kind: name for name in ("AVRO", "JSON_SR", "PROTOBUF")}
HEAD = 5
MOST = 1000


class SchemaIdRecords:
    """Reads records by the schemas that they name; knows each schema once."""

    def __init__(self, schemas: RegistryAccess) -> None:
        self._schemas = schemas
        self._readers: dict[int, _SchemaIdReader | None] = {}

    def show(self, data: bytes) -> dict[str, str]:
        """The format of a record behind a schema id and its text; nothing where it is no such record."""
        if len(data) < HEAD or data[0] != 0:
            return {}
        reader = self._reader(int.from_bytes(data[1:HEAD], "big"))
        text = reader.text(data) if reader else None
        return {reader.format: text} if reader and text is not None else {}

    def _reader(self, id: int) -> "_SchemaIdReader | None":
        if id not in self._readers:
            if len(self._readers) >= MOST:
                self._readers.clear()
            found = self._schemas.known(id)
            self._readers[id] = _reader(found) if found else None
        return self._readers[id]


class _SchemaIdReader:
    """Reads records of one schema; shows them as the JSON format writes them."""

    def __init__(self, format: str, read: OneRecord, write: OneRecord) -> None:
        self.format, self._read, self._write = format, read, write

    def text(self, data: bytes) -> str | None:
        """The record's JSON; None where its bytes are not what the schema says."""
        try:
            shown = self._write.encode(self._read.decode(data))
        except UnreadableRecord:
            return None
        return None if shown is None else shown.decode()


def _reader(found: RegisteredSchema) -> _SchemaIdReader | None:
    format = FORMATS[found.schema.kind]
    for wrapped in (True, False):
        try:
            names = tuple(columns(format, found.schema, "VALUE", wrapped, True, ""))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        return _made(format, wrapped, found, names)
    return None


def _made(format: str, wrapped: bool, found: RegisteredSchema, names: tuple[Column, ...]) -> _SchemaIdReader:
    physical = PhysicalSchema("", "", found.schema, id=found.id)
    read = spec(Serde(format, wrapped, schema=physical), names)
    return _SchemaIdReader(format, one_record(read, names), one_record(spec(Serde("JSON", wrapped), names), names))
