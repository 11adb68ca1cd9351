"""JSON: an object of all columns, or the bare value of a single one."""

from millstream.formats.base import Format, fits_spark, string_map_keys

JSON = Format("JSON", checks=(string_map_keys, fits_spark))
