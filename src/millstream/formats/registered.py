"""Formats with schemas: AVRO, PROTOBUF, PROTOBUF_NOSR and JSON_SR; what they can do is known, the codec lacks them."""

from millstream.formats.base import Format, fits_spark, string_map_keys

SCHEMA = frozenset({"schema_id", "schema_full_name"})
NULLS = frozenset({"nullable_representation"})

AVRO = Format("AVRO", infers=True, built=False, properties=SCHEMA, checks=(fits_spark,))
JSON_SR = Format("JSON_SR", infers=True, built=False, properties=SCHEMA, checks=(fits_spark,))
PROTOBUF = Format(
    "PROTOBUF",
    unwraps=False,
    infers=True,
    built=False,
    properties=SCHEMA | NULLS,
    checks=(string_map_keys, fits_spark),
)
PROTOBUF_NOSR = Format("PROTOBUF_NOSR", built=False, properties=NULLS, checks=(string_map_keys, fits_spark))
