"""SQL types as frozen values; their text is ksqlDB's (docs/reference/types-and-coercion.md)."""

from dataclasses import dataclass

from millstream.model.names import quoted
from millstream.model.treenode import TreeNode, TreePart


class SqlType(TreeNode["SqlType"]):
    """A type of the language; equal if structurally equal; `str` gives its SQL text."""

    __slots__ = ()

    @property
    def contains_map(self) -> bool:
        """True if it is or contains a MAP: keys cannot contain one, and Spark cannot compare them."""
        return any(isinstance(t, Map) for t in self.walk())


@dataclass(frozen=True, slots=True)
class Primitive(SqlType):
    """A type without parameters, by its canonical name (INTEGER, not INT; STRING, not VARCHAR)."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Decimal(SqlType):
    """DECIMAL(precision, scale)."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class Array(SqlType):
    """ARRAY<element>."""

    element: SqlType

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True, slots=True)
class Map(SqlType):
    """MAP<key, value>."""

    key: SqlType
    value: SqlType

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class Field(TreePart):
    """A named member of a struct."""

    name: str
    type: SqlType

    def __str__(self) -> str:
        return f"{quoted(self.name)} {self.type}"


@dataclass(frozen=True, slots=True)
class Struct(SqlType):
    """STRUCT<name type, …>; field names keep their case."""

    fields: tuple[Field, ...]

    def __str__(self) -> str:
        return f"STRUCT<{', '.join(map(str, self.fields))}>"

    def index(self, name: str) -> int | None:
        """The position of the field of exactly that name; None if there is none."""
        return next((i for i, f in enumerate(self.fields) if f.name == name), None)


@dataclass(frozen=True, slots=True)
class CustomType(SqlType):
    """A custom type by name (CREATE TYPE), as parsed; analysis replaces it by its definition."""

    name: str

    def __str__(self) -> str:
        return quoted(self.name)


BOOLEAN = Primitive("BOOLEAN")
INTEGER = Primitive("INTEGER")
BIGINT = Primitive("BIGINT")
DOUBLE = Primitive("DOUBLE")
STRING = Primitive("STRING")
BYTES = Primitive("BYTES")
DATE = Primitive("DATE")
TIME = Primitive("TIME")
TIMESTAMP = Primitive("TIMESTAMP")

PRIMITIVES = {t.name: t for t in (BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP)}
ALIASES = {"INT": INTEGER, "VARCHAR": STRING, **PRIMITIVES}
HEADERS_TYPE = Array(Struct((Field("KEY", STRING), Field("VALUE", BYTES))))


MOST_DIGITS = 38


def constant_decimal(digits: int, scale: int) -> Decimal:
    """The DECIMAL of a constant; as in ksqlDB (DecimalUtil.fromValue) a 0 before the point is a digit."""
    return Decimal(max(digits, scale, min(scale + 1, MOST_DIGITS)), scale)


def computed(decimal: Decimal) -> Decimal:
    """The DECIMAL of at most 38 digits for `decimal`'s values in Spark: up to 32 whole digits are kept.

    A value with more digits fails when it is computed or decoded.
    """
    if decimal.precision <= MOST_DIGITS:
        return decimal
    whole = decimal.precision - decimal.scale
    return Decimal(MOST_DIGITS, max(MOST_DIGITS - whole, min(decimal.scale, 6)))


def is_numeric(t: SqlType) -> bool:
    """True if arithmetic can be applied to `t`."""
    return t in (INTEGER, BIGINT, DOUBLE) or isinstance(t, Decimal)
