"""Records with a schema id header, as PRINT shows them: their format and their JSON text."""

import time

from millstream.catalog.catalog import Serde
from millstream.catalog.schemas import PhysicalSchema, RegisteredSchema
from millstream.engine.schemas import RegistryAccess
from millstream.formats.client import RegistryFailed
from millstream.formats.spec import spec
from millstream.formats.translation import TRANSLATORS, columns
from millstream.model.schema import Column
from millstream.spark.codec import RecordCodec, RegistryUnavailable, UnreadableRecord, record_codec

FORMATS = {TRANSLATORS[name].kind: name for name in ("AVRO", "JSON_SR", "PROTOBUF")}
# The bytes before a record's content: a zero byte and the schema id. The most schemas that are cached.
HEAD = 5
MOST = 1000
# How many seconds pass until a registry that did not answer is asked again: each question may take ten.
RETRY = 5.0


class SchemaIdRecords:
    """Reads records by the schemas that they name; caches each schema.

    `failure` is why the last record could not be read if the registry does not answer, else "".
    """

    def __init__(self, schemas: RegistryAccess) -> None:
        self._schemas = schemas
        self._readers: dict[int, _SchemaIdReader | None] = {}
        self.failure, self._away, self._retry_at = "", "", 0.0

    def show(self, data: bytes) -> dict[str, str]:
        """The format and text of a record with a schema id header; empty if it is not such a record, and while the
        registry is away."""
        self.failure = ""
        if len(data) < HEAD or data[0] != 0:
            return {}
        try:
            reader = self._reader(int.from_bytes(data[1:HEAD], "big"))
            text = reader.text(data) if reader else None
        except (RegistryFailed, RegistryUnavailable) as failure:
            if time.monotonic() >= self._retry_at:
                self._away, self._retry_at = str(failure), time.monotonic() + RETRY
            self.failure = self._away
            return {}
        return {reader.format: text} if reader and text is not None else {}

    def _reader(self, id: int) -> "_SchemaIdReader | None":
        if id not in self._readers:
            if time.monotonic() < self._retry_at:
                raise RegistryFailed(self._away)
            if len(self._readers) >= MOST:
                self._readers.clear()
            registered = self._schemas.schema(id)
            self._readers[id] = _reader(registered) if registered else None
        return self._readers[id]


class _SchemaIdReader:
    """Reads records of one schema and formats them as JSON."""

    def __init__(self, format: str, read: RecordCodec, write: RecordCodec) -> None:
        self.format, self._read, self._write = format, read, write

    def text(self, data: bytes) -> str | None:
        """The record's JSON; None if its bytes do not fit the schema. Raises RegistryUnavailable."""
        try:
            shown = self._write.encode(self._read.decode(data))
        except RegistryUnavailable:
            raise
        except UnreadableRecord:
            return None
        return None if shown is None else shown.decode()


def _reader(registered: RegisteredSchema) -> _SchemaIdReader | None:
    format = FORMATS[registered.schema.kind]
    for wrapped in (True, False):
        try:
            names = tuple(columns(format, registered.schema, "VALUE", wrapped, True, ""))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        return _schema_id_reader(format, wrapped, registered, names)
    return None


def _schema_id_reader(
    format: str, wrapped: bool, registered: RegisteredSchema, names: tuple[Column, ...]
) -> _SchemaIdReader:
    physical = PhysicalSchema("", "", registered.schema, id=registered.id)
    read = spec(Serde(format, wrapped, schema=physical), names)
    return _SchemaIdReader(format, record_codec(read, names), record_codec(spec(Serde("JSON", wrapped), names), names))
