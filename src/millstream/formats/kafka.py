"""KAFKA: a single value as Kafka's own serializers write it."""

from millstream.formats.base import Format, one_column, only

KAFKA = Format("KAFKA", wraps=False, checks=(one_column, only("INTEGER", "BIGINT", "DOUBLE", "STRING", "BYTES")))
