"""JSON: an object of all columns, or the value of a single unwrapped one."""

from millstream.formats.base import Format, no_wide_decimals, string_map_keys

JSON = Format("JSON", checks=(string_map_keys, no_wide_decimals))
