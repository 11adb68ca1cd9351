"""NONE: a side of a record, the key, that is neither read nor written."""

from millstream.formats.base import Format, no_columns

# For a value it is refused because of its columns: any value has some.
NONE = Format("NONE", wraps=False, unwraps=False, checks=(no_columns,))
