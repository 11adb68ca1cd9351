"""NONE: a side of a record that is neither read nor written; for keys."""

from millstream.formats.base import Format, no_columns

# Named on a value it is refused for its columns, as any value has some.
NONE = Format("NONE", wraps=False, unwraps=False, checks=(no_columns,))
