"""JSON: an object of all columns, or the value of a single unwrapped one."""

from millstream.formats.base import Format, fits_spark, string_map_keys

JSON = Format("JSON", checks=(string_map_keys, fits_spark))
