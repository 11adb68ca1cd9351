"""The capabilities of a format: its sides of a record, columns and types, wrapping, properties, inference."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from millstream.model.names import identifier
from millstream.model.schema import Column
from millstream.model.types import MOST_DIGITS, STRING, Array, Decimal, Map, SqlType, Struct

# From the format's name and the columns of one side to the reason why it cannot hold them, or None.
Check = Callable[[str, Sequence[Column]], str | None]
# The same for their names, from the columns and whether they are fields of a record.
NameCheck = Callable[[Sequence[Column], bool], str | None]


@dataclass(frozen=True, slots=True)
class Format:
    """One format, by its upper-case name.

    `wraps` and `unwraps`: a single column can be written inside a record, or unwrapped. `key` and `value`: the sides it
    can write. `properties`: those that a WITH clause may set for it; `inherited`: those that the result of a
    query takes over from the first source, if it has its format. `infers`: columns can be read from a schema
    registry. `checks` refuse columns, `name_check` their names.
    """

    name: str
    key: bool = True
    value: bool = True
    wraps: bool = True
    unwraps: bool = True
    infers: bool = False
    properties: frozenset[str] = frozenset()
    inherited: frozenset[str] = frozenset()
    checks: tuple[Check, ...] = ()
    name_check: NameCheck = lambda columns, wrapped: None

    def refusal(self, side: str, columns: Sequence[Column], wrap: bool | None = None) -> str | None:
        """Why the format cannot hold these columns on that side ("KEY" or "VALUE"); None if it can.

        `wrap` is the requested wrapping of a single column.
        """
        if not (self.key if side == "KEY" else self.value):
            return f"The '{self.name}' format is not supported for {side.lower()}s" if columns else None
        reasons = (check(self.name, columns) for check in self.checks)
        return next(filter(None, reasons), None) or self.name_check(columns, self.wrapped(len(columns), wrap))

    def wrapped(self, columns: int, requested: bool | None) -> bool:
        """True if this number of columns is written inside a record; `requested` is the wrapping of a single column."""
        if columns == 1 and self.wraps and self.unwraps:
            return requested is not False
        return self.wraps


def kind(type: SqlType) -> str:
    """The name of a type without its parameters: ARRAY, MAP, STRUCT, DECIMAL or the primitive's."""
    return str(type).split("<")[0].split("(")[0]


def listed(columns: Sequence[Column]) -> str:
    """Columns as error messages list them, with their types."""
    return "[" + ", ".join(f"{identifier(c.name)} {c.type}" for c in columns) + "]"


def no_columns(name: str, columns: Sequence[Column]) -> str | None:
    """A Check: the reason to refuse any column; None if there are no columns."""
    return (
        f"The '{name}' format can only be used when no columns are defined. Got: {listed(columns)}" if columns else None
    )


def one_column(name: str, columns: Sequence[Column]) -> str | None:
    """A Check: the reason to refuse more than one column; None if there is at most one."""
    return f"The '{name}' format only supports a single field. Got: {listed(columns)}" if len(columns) > 1 else None


def only(*kinds: str) -> Check:
    """A Check that refuses a column whose own type is not among `kinds`; types inside of it are not looked at."""

    def check(name: str, columns: Sequence[Column]) -> str | None:
        wrong = next((c for c in columns if kind(c.type) not in kinds), None)
        if wrong is None:
            return None
        return f"The '{name}' format does not support type '{kind(wrong.type)}', column: `{wrong.name}`"

    return check


def string_map_keys(name: str, columns: Sequence[Column]) -> str | None:
    """A Check: the reason to refuse a MAP, at any depth, whose keys are not STRING; None if there is no such MAP."""
    maps = (t for c in columns for t in c.type.walk() if isinstance(t, Map))
    return f"{name} only supports MAP types with STRING keys" if any(m.key != STRING for m in maps) else None


def no_wide_decimals(name: str, columns: Sequence[Column]) -> str | None:
    """A Check: the reason to refuse a DECIMAL, at any depth, with more digits than Spark supports; else None."""
    wide = next(((t, c) for c in columns for t in c.type.walk() if is_too_wide(t)), None)
    if wide is None:
        return None
    return f"{wide[0]} has more than the {MOST_DIGITS} digits that can be processed, column: `{wide[1].name}`"


def is_too_wide(type: SqlType) -> bool:
    """True for a DECIMAL with more digits than Spark supports."""
    return isinstance(type, Decimal) and type.precision > MOST_DIGITS


NESTED = tuple(kind(t) for t in (Array(STRING), Map(STRING, STRING), Struct(())))
