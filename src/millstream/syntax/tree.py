"""The typed tree that a statement's text becomes: frozen values that know their place and nothing else.

Equality ignores places, so that `parse(print(tree)) == tree` can be asked.
Names are as the language reads them: unquoted ones upper-cased, quoted ones as written.
"""

from dataclasses import dataclass, field
from enum import Enum

from millstream.model.errors import Span
from millstream.model.types import SqlType

NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Anything in the tree; `span` is where it begins."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


# ---------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class Expression(Node):
    """Anything that has a value."""


@dataclass(frozen=True, slots=True)
class Literal(Expression):
    """A constant. `type` is BOOLEAN, INTEGER, BIGINT, Decimal, DOUBLE or STRING; None for NULL.

    `value` is bool, int, decimal.Decimal, float, str or None.
    """

    value: object
    type: SqlType | None


@dataclass(frozen=True, slots=True)
class ColumnRef(Expression):
    """`name` or `source.name`."""

    name: str
    source: str | None = None


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
class Call(Expression):
    """`name(args)`; the name upper-cased. COUNT(*) has `star` and no arguments."""

    name: str
    args: tuple[Expression, ...]
    star: bool = False


@dataclass(frozen=True, slots=True)
class Unit(Expression):
    """A bare time unit as an argument, as in DATEADD(DAYS, 1, d): MILLISECONDS … DAYS, MONTHS, YEARS; in the plural.

    The singulars DAY, HOUR, MINUTE, SECOND, MONTH and YEAR may be columns and are read as such (ColumnRef).
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

    `!=` reads as `<>`.
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
class When(Node):
    """One branch of a CASE."""

    condition: Expression
    result: Expression


@dataclass(frozen=True, slots=True)
class Case(Expression):
    """`CASE [operand] WHEN … THEN … [ELSE …] END`; searched form where `operand` is None."""

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


# ---------------------------------------------------------------- queries


@dataclass(frozen=True, slots=True)
class Duration(Node):
    """`10 SECONDS`: `count` and a unit in the plural, upper case (MILLISECONDS, SECONDS, MINUTES, HOURS, DAYS)."""

    count: int
    unit: str

    @property
    def milliseconds(self) -> int:
        return self.count * _MS[self.unit]


_MS = {"MILLISECONDS": 1, "SECONDS": 1000, "MINUTES": 60_000, "HOURS": 3_600_000, "DAYS": 86_400_000}


class WindowKind(Enum):
    TUMBLING = "TUMBLING"
    HOPPING = "HOPPING"
    SESSION = "SESSION"


@dataclass(frozen=True, slots=True)
class Window(Node):
    """`WINDOW kind (…)`; `size` is the gap of a SESSION."""

    kind: WindowKind
    size: Duration
    advance: Duration | None = None
    retention: Duration | None = None
    grace: Duration | None = None


@dataclass(frozen=True, slots=True)
class SelectItem(Node):
    """Something in a projection."""


@dataclass(frozen=True, slots=True)
class SelectOne(SelectItem):
    """`expression [AS alias]`."""

    expression: Expression
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class SelectAll(SelectItem):
    """`*` or `source.*`."""

    source: str | None = None


@dataclass(frozen=True, slots=True)
class SelectFields(SelectItem):
    """`struct->*`."""

    struct: Expression


@dataclass(frozen=True, slots=True)
class Source(Node):
    """A source in FROM, with its alias where one is given."""

    name: str
    alias: str | None = None


class JoinKind(Enum):
    INNER = "INNER"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    FULL = "FULL"


@dataclass(frozen=True, slots=True)
class Within(Node):
    """`WITHIN d` (before = after) or `WITHIN (before, after)`, with its GRACE PERIOD."""

    before: Duration
    after: Duration
    grace: Duration | None = None


@dataclass(frozen=True, slots=True)
class Join(Node):
    """`kind JOIN source [WITHIN …] ON condition`."""

    kind: JoinKind
    source: Source
    condition: Expression
    within: Within | None = None


class Emit(Enum):
    CHANGES = "CHANGES"
    FINAL = "FINAL"


@dataclass(frozen=True, slots=True)
class Query(Node):
    """SELECT …; `group_by`/`partition_by` are None where the clause is absent.

    `emit` None is a pull query (or unstated).
    """

    items: tuple[SelectItem, ...]
    source: Source
    joins: tuple[Join, ...] = ()
    window: Window | None = None
    where: Expression | None = None
    group_by: tuple[Expression, ...] | None = None
    partition_by: tuple[Expression, ...] | None = None
    having: Expression | None = None
    emit: Emit | None = None
    limit: int | None = None


# ---------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class Statement(Node):
    """A whole statement, without its semicolon."""


@dataclass(frozen=True, slots=True)
class Property(Node):
    """`name = value` in WITH; the name upper-cased for sources, as written for connectors. `value` is a Literal."""

    name: str
    value: Literal


class SourceKind(Enum):
    STREAM = "STREAM"
    TABLE = "TABLE"


class ColumnMark(Enum):
    """What stands behind a column's type."""

    KEY = "KEY"
    PRIMARY_KEY = "PRIMARY KEY"
    HEADERS = "HEADERS"
    HEADER = "HEADER"


@dataclass(frozen=True, slots=True)
class ColumnDef(Node):
    """`name type [KEY | PRIMARY KEY | HEADERS | HEADER('header')]`."""

    name: str
    type: SqlType
    mark: ColumnMark | None = None
    header: str | None = None


@dataclass(frozen=True, slots=True)
class CreateSource(Statement):
    """CREATE [OR REPLACE] [SOURCE] STREAM|TABLE [IF NOT EXISTS] name [(columns)] [WITH (…)].

    `columns` () = none given.
    """

    kind: SourceKind
    name: str
    columns: tuple[ColumnDef, ...] = ()
    properties: tuple[Property, ...] = ()
    or_replace: bool = False
    if_not_exists: bool = False
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class CreateAs(Statement):
    """CREATE [OR REPLACE] STREAM|TABLE [IF NOT EXISTS] name [WITH (…)] AS query."""

    kind: SourceKind
    name: str
    query: Query
    properties: tuple[Property, ...] = ()
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class InsertInto(Statement):
    """INSERT INTO target [WITH (…)] query."""

    target: str
    query: Query
    properties: tuple[Property, ...] = ()


@dataclass(frozen=True, slots=True)
class InsertValues(Statement):
    """INSERT INTO target [(columns)] VALUES (values). `columns` () = all."""

    target: str
    columns: tuple[str, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class QueryStatement(Statement):
    """A SELECT as a statement: push where `query.emit` is set, else pull."""

    query: Query


@dataclass(frozen=True, slots=True)
class Drop(Statement):
    """DROP STREAM|TABLE [IF EXISTS] name [DELETE TOPIC]."""

    kind: SourceKind
    name: str
    if_exists: bool = False
    delete_topic: bool = False


@dataclass(frozen=True, slots=True)
class AlterSource(Statement):
    """ALTER STREAM|TABLE name ADD [COLUMN] column, …."""

    kind: SourceKind
    name: str
    columns: tuple[ColumnDef, ...]


@dataclass(frozen=True, slots=True)
class AlterSystem(Statement):
    """ALTER SYSTEM 'name' = 'value'."""

    name: str
    value: str


class QueryVerb(Enum):
    TERMINATE = "TERMINATE"
    PAUSE = "PAUSE"
    RESUME = "RESUME"


@dataclass(frozen=True, slots=True)
class ControlQuery(Statement):
    """TERMINATE | PAUSE | RESUME id; `query` None = ALL."""

    verb: QueryVerb
    query: str | None


@dataclass(frozen=True, slots=True)
class Explain(Statement):
    """EXPLAIN statement or EXPLAIN id; exactly one of the two is set."""

    statement: Statement | None = None
    query: str | None = None


class Listing(Enum):
    """What SHOW/LIST can list."""

    STREAMS = "STREAMS"
    TABLES = "TABLES"
    TOPICS = "TOPICS"
    QUERIES = "QUERIES"
    FUNCTIONS = "FUNCTIONS"
    PROPERTIES = "PROPERTIES"
    TYPES = "TYPES"
    VARIABLES = "VARIABLES"
    CONNECTORS = "CONNECTORS"
    SOURCE_CONNECTORS = "SOURCE CONNECTORS"
    SINK_CONNECTORS = "SINK CONNECTORS"
    CONNECTOR_PLUGINS = "CONNECTOR PLUGINS"


@dataclass(frozen=True, slots=True)
class Show(Statement):
    """SHOW|LIST [ALL] what [EXTENDED]; `all` only of TOPICS."""

    what: Listing
    extended: bool = False
    all: bool = False


@dataclass(frozen=True, slots=True)
class Describe(Statement):
    """DESCRIBE name [EXTENDED]."""

    name: str
    extended: bool = False


@dataclass(frozen=True, slots=True)
class DescribeAll(Statement):
    """DESCRIBE STREAMS|TABLES [EXTENDED]."""

    kind: SourceKind
    extended: bool = False


@dataclass(frozen=True, slots=True)
class DescribeFunction(Statement):
    """DESCRIBE FUNCTION name."""

    name: str


@dataclass(frozen=True, slots=True)
class DescribeConnector(Statement):
    """DESCRIBE CONNECTOR name."""

    name: str


@dataclass(frozen=True, slots=True)
class Print(Statement):
    """PRINT topic [FROM BEGINNING] [INTERVAL|SAMPLE n] [LIMIT n]."""

    topic: str
    from_beginning: bool = False
    interval: int | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class CreateType(Statement):
    """CREATE TYPE [IF NOT EXISTS] name AS type."""

    name: str
    type: SqlType
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropType(Statement):
    """DROP TYPE [IF EXISTS] name."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class Define(Statement):
    """DEFINE name = 'value'."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Undefine(Statement):
    """UNDEFINE name."""

    name: str


@dataclass(frozen=True, slots=True)
class SetProperty(Statement):
    """SET 'name' = 'value'."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class UnsetProperty(Statement):
    """UNSET 'name'."""

    name: str


@dataclass(frozen=True, slots=True)
class RunScript(Statement):
    """RUN SCRIPT 'file' (the shell's)."""

    path: str


@dataclass(frozen=True, slots=True)
class AssertTopic(Statement):
    """ASSERT [NOT EXISTS] TOPIC topic [WITH (…)] [TIMEOUT d]."""

    topic: str
    properties: tuple[Property, ...] = ()
    timeout: Duration | None = None
    exists: bool = True


@dataclass(frozen=True, slots=True)
class AssertSchema(Statement):
    """ASSERT [NOT EXISTS] SCHEMA [SUBJECT subject] [ID id] [TIMEOUT d]."""

    subject: str | None = None
    id: int | None = None
    timeout: Duration | None = None
    exists: bool = True


@dataclass(frozen=True, slots=True)
class AssertValues(Statement):
    """ASSERT VALUES source (columns) VALUES (values) (test runner only)."""

    source: str
    columns: tuple[str, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class AssertNullValues(Statement):
    """ASSERT NULL VALUES source (columns) KEY (values) (test runner only)."""

    source: str
    columns: tuple[str, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class AssertSource(Statement):
    """ASSERT STREAM|TABLE name (columns) WITH (…) (test runner only)."""

    kind: SourceKind
    name: str
    columns: tuple[ColumnDef, ...] = ()
    properties: tuple[Property, ...] = ()


class ConnectorKind(Enum):
    SOURCE = "SOURCE"
    SINK = "SINK"


@dataclass(frozen=True, slots=True)
class CreateConnector(Statement):
    """CREATE SOURCE|SINK CONNECTOR [IF NOT EXISTS] name WITH (…)."""

    kind: ConnectorKind
    name: str
    properties: tuple[Property, ...] = ()
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropConnector(Statement):
    """DROP CONNECTOR [IF EXISTS] name."""

    name: str
    if_exists: bool = False
