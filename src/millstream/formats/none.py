"""NONE: a side of a record, the key, that is neither read nor written."""

from millstream.formats.base import Format, no_columns

# Values cannot have this format, although `value` is True: they always have columns, which the check refuses.
NONE = Format("NONE", wraps=False, unwraps=False, checks=(no_columns,))
