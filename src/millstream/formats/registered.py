"""The formats with schemas, AVRO, PROTOBUF, PROTOBUF_NOSR and JSON_SR, and their capabilities."""

from millstream.formats import protobuf
from millstream.formats.avro import unnameable
from millstream.formats.base import Check, Format, no_wide_decimals, string_map_keys

FULL_NAME = "schema_full_name"
NULLABLE = "protobuf_nullable_representation"
SCHEMA = frozenset({"schema_id", FULL_NAME})
NULLS = frozenset({NULLABLE})
# What the sink of a query inherits from a source with the same format. AVRO and JSON_SR do not have such properties:
# there the name of a schema is that of one source only, as in ksqlDB.
INHERITED = NULLS | {FULL_NAME}
PROTOBUF_CHECKS: tuple[Check, ...] = (
    string_map_keys,
    protobuf.unnameable,
    protobuf.unrepeatable,
    no_wide_decimals,
)

AVRO = Format("AVRO", infers=True, properties=SCHEMA, checks=(string_map_keys, no_wide_decimals), name_check=unnameable)
JSON_SR = Format("JSON_SR", infers=True, properties=SCHEMA, checks=(string_map_keys, no_wide_decimals))
PROTOBUF = Format(
    "PROTOBUF",
    unwraps=False,
    infers=True,
    properties=SCHEMA | NULLS,
    inherited=INHERITED,
    checks=PROTOBUF_CHECKS,
)
PROTOBUF_NOSR = Format("PROTOBUF_NOSR", properties=INHERITED, inherited=INHERITED, checks=PROTOBUF_CHECKS)
