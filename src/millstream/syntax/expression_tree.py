"""The tree's expressions, and the base class of all nodes: frozen values with their position in the text."""

from dataclasses import dataclass, field

from millstream.model.errors import Span
from millstream.model.treenode import TreeNode
from millstream.model.types import SqlType
from millstream.model.units import MILLISECONDS

NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntaxNode(TreeNode["SyntaxNode"]):
    """Any node of the tree; `span` is where its text begins."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Duration(SyntaxNode):
    """`10 SECONDS`: a count and a unit, which is in upper case and plural (SECONDS, MINUTES, HOURS, DAYS and so on)."""

    count: int
    unit: str

    @property
    def milliseconds(self) -> int:
        """The duration in milliseconds; a unit such as MONTHS, whose length varies, raises KeyError."""
        return self.count * MILLISECONDS[self.unit]


# ---------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class Expression(SyntaxNode):
    """Any node that has a value."""


@dataclass(frozen=True, slots=True)
class Literal(Expression):
    """A constant. `type` is BOOLEAN, INTEGER, BIGINT, Decimal, DOUBLE or STRING; None for NULL.

    `value` is bool, int, decimal.Decimal, float, str or None.
    """

    value: object
    type: SqlType | None


@dataclass(frozen=True, slots=True)
class ColumnRef(Expression):
    """`name` or `source.name`; with three names `part` is the middle one: `source.ROWKEY.name`.

    In `ROWKEY.name` the source may actually be a part; analysis/record_views.py decides that.
    """

    name: str
    source: str | None = None
    part: str | None = None


@dataclass(frozen=True, slots=True)
class Deref(Expression):
    """`base->field`."""

    base: Expression
    field: str


@dataclass(frozen=True, slots=True)
class Subscript(Expression):
    """`base[index]`."""

    base: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class RowsFrame(SyntaxNode):
    """`ROWS 9 PRECEDING`: the nine rows that arrived before a row, and itself."""

    preceding: int


@dataclass(frozen=True, slots=True)
class RangeFrame(SyntaxNode):
    """`RANGE 1 HOUR PRECEDING [GRACE PERIOD d]`: the rows of the last hour that arrived before a row, and itself."""

    preceding: Duration
    grace: Duration | None = None


@dataclass(frozen=True, slots=True)
class OverClause(SyntaxNode):
    """`OVER (PARTITION BY a ORDER BY ROWOFFSET [frame])`: the rows that arrived before a row, and itself.

    `frame` says which of these; None: all of its partition. With a RangeFrame it is written ORDER BY ROWTIME.
    """

    partition_by: tuple[Expression, ...]
    frame: RowsFrame | RangeFrame | None = None


@dataclass(frozen=True, slots=True)
class Call(Expression):
    """`name(args)`; the name upper-cased. COUNT(*) has `star` and no arguments; `distinct` is `name(DISTINCT args)`.

    `filter` is the condition of `name(args) FILTER (WHERE condition)`, `over` the clause OVER (…) after it.
    """

    name: str
    args: tuple[Expression, ...]
    star: bool = False
    distinct: bool = False
    filter: Expression | None = None
    over: OverClause | None = None


@dataclass(frozen=True, slots=True)
class Unit(Expression):
    """A bare time unit as an argument, as in DATEADD(DAYS, 1, d): MILLISECONDS … DAYS, MONTHS, YEARS; always plural.

    The singulars DAY, HOUR, MINUTE, SECOND, MONTH and YEAR may be columns and are parsed as such (ColumnRef).
    """

    name: str


@dataclass(frozen=True, slots=True)
class Arithmetic(Expression):
    """`left operator right` with operator one of + - * / %."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Concatenation(Expression):
    """`left || right`."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Sign(Expression):
    """Unary `+` or `-`. (A minus before a number is folded into the literal by the parser.)"""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Comparison(Expression):
    """`left operator right`; the operator is one of = <> < <= > >=, IS DISTINCT FROM, IS NOT DISTINCT FROM.

    `!=` is parsed as `<>`.
    """

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Logical(Expression):
    """`left AND right` or `left OR right`."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Not(Expression):
    """`NOT operand`."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class IsNull(Expression):
    """`operand IS [NOT] NULL`."""

    operand: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Between(Expression):
    """`operand [NOT] BETWEEN low AND high`."""

    operand: Expression
    low: Expression
    high: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class InList(Expression):
    """`operand [NOT] IN (items)`."""

    operand: Expression
    items: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like(Expression):
    """`operand [NOT] LIKE pattern [ESCAPE 'c']`."""

    operand: Expression
    pattern: Expression
    escape: str | None = None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class When(SyntaxNode):
    """One branch of a CASE."""

    condition: Expression
    result: Expression


@dataclass(frozen=True, slots=True)
class Case(Expression):
    """`CASE [operand] WHEN … THEN … [ELSE …] END`; the searched form if `operand` is None."""

    whens: tuple[When, ...]
    otherwise: Expression | None = None
    operand: Expression | None = None


@dataclass(frozen=True, slots=True)
class Cast(Expression):
    """`CAST(operand AS type)`."""

    operand: Expression
    type: SqlType


@dataclass(frozen=True, slots=True)
class ArrayOf(Expression):
    """`ARRAY[items]`."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class MapOf(Expression):
    """`MAP(k := v, …)`."""

    entries: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, slots=True)
class StructOf(Expression):
    """`STRUCT(name := value, …)`."""

    fields: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class Lambda(Expression):
    """`x => body` or `(x, y) => body`."""

    parameters: tuple[str, ...]
    body: Expression


@dataclass(frozen=True, slots=True)
class AtTimeZone(Expression):
    """`operand AT TIME ZONE zone` (grammar only)."""

    operand: Expression
    zone: Expression


@dataclass(frozen=True, slots=True)
class TypedText(Expression):
    """`TYPE 'text'`, as in DECIMAL '1.2'; the type's name upper-cased."""

    type: str
    text: str
