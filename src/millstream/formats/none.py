"""NONE: a side of a record, the key, that is neither read nor written."""

from millstream.formats.base import Format, no_columns

# No format of a value: a value always has columns, which the check refuses.
NONE = Format("NONE", wraps=False, unwraps=False, checks=(no_columns,))
