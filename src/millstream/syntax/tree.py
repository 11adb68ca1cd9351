"""The typed tree of a statement: frozen values with their position in the text.

Equality ignores positions, so that a test can compare `parse(print(tree))` with `tree`.
Names are in the language's form: unquoted ones upper-cased, quoted ones as written.
"""

from dataclasses import dataclass, field
from enum import Enum

from millstream.model.errors import Span
from millstream.model.types import SqlType
from millstream.syntax.expression_tree import NOWHERE as NOWHERE
from millstream.syntax.expression_tree import Arithmetic as Arithmetic
from millstream.syntax.expression_tree import ArrayOf as ArrayOf
from millstream.syntax.expression_tree import AtTimeZone as AtTimeZone
from millstream.syntax.expression_tree import Between as Between
from millstream.syntax.expression_tree import Call as Call
from millstream.syntax.expression_tree import Case as Case
from millstream.syntax.expression_tree import Cast as Cast
from millstream.syntax.expression_tree import ColumnRef as ColumnRef
from millstream.syntax.expression_tree import Comparison as Comparison
from millstream.syntax.expression_tree import Concatenation as Concatenation
from millstream.syntax.expression_tree import Deref as Deref
from millstream.syntax.expression_tree import Duration as Duration
from millstream.syntax.expression_tree import Expression as Expression
from millstream.syntax.expression_tree import InList as InList
from millstream.syntax.expression_tree import IsNull as IsNull
from millstream.syntax.expression_tree import Lambda as Lambda
from millstream.syntax.expression_tree import Like as Like
from millstream.syntax.expression_tree import Literal as Literal
from millstream.syntax.expression_tree import Logical as Logical
from millstream.syntax.expression_tree import MapOf as MapOf
from millstream.syntax.expression_tree import Not as Not
from millstream.syntax.expression_tree import OverClause as OverClause
from millstream.syntax.expression_tree import RangeFrame as RangeFrame
from millstream.syntax.expression_tree import RowsFrame as RowsFrame
from millstream.syntax.expression_tree import Sign as Sign
from millstream.syntax.expression_tree import StructOf as StructOf
from millstream.syntax.expression_tree import Subscript as Subscript
from millstream.syntax.expression_tree import SyntaxNode as SyntaxNode
from millstream.syntax.expression_tree import TypedText as TypedText
from millstream.syntax.expression_tree import Unit as Unit
from millstream.syntax.expression_tree import When as When
from millstream.syntax.query_tree import Emit as Emit
from millstream.syntax.query_tree import FromQuery as FromQuery
from millstream.syntax.query_tree import FromSource as FromSource
from millstream.syntax.query_tree import FromUnion as FromUnion
from millstream.syntax.query_tree import JoinClause as JoinClause
from millstream.syntax.query_tree import JoinKind as JoinKind
from millstream.syntax.query_tree import OrderItem as OrderItem
from millstream.syntax.query_tree import SelectAll as SelectAll
from millstream.syntax.query_tree import SelectFields as SelectFields
from millstream.syntax.query_tree import SelectItem as SelectItem
from millstream.syntax.query_tree import SelectOne as SelectOne
from millstream.syntax.query_tree import SelectQuery as SelectQuery
from millstream.syntax.query_tree import WindowClause as WindowClause
from millstream.syntax.query_tree import WindowKind as WindowKind
from millstream.syntax.query_tree import Within as Within

# The names of the two sides of a record in statements.
PARTS = ("ROWKEY", "ROWVALUE")

# ---------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class Statement(SyntaxNode):
    """A whole statement, without its semicolon."""


@dataclass(frozen=True, slots=True)
class Property(SyntaxNode):
    """`name = value` in WITH; the name is upper-cased for sources, unchanged for connectors. `value` is a Literal."""

    name: str
    value: Literal


class SourceKind(Enum):
    """The kinds of sources, by keyword."""

    STREAM = "STREAM"
    TABLE = "TABLE"


class ColumnMark(Enum):
    """The mark after a column's type."""

    KEY = "KEY"
    PRIMARY_KEY = "PRIMARY KEY"
    HEADERS = "HEADERS"
    HEADER = "HEADER"


@dataclass(frozen=True, slots=True)
class ColumnDef(SyntaxNode):
    """`name type [KEY | PRIMARY KEY | HEADERS | HEADER('header')]`."""

    name: str
    type: SqlType
    mark: ColumnMark | None = None
    header: str | None = None


@dataclass(frozen=True, slots=True)
class CreateSource(Statement):
    """CREATE [OR REPLACE] [SOURCE] STREAM|TABLE [IF NOT EXISTS] name [(columns)] [WITH (…)].

    `columns` is () if there are none.
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
    query: SelectQuery
    properties: tuple[Property, ...] = ()
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class InsertInto(Statement):
    """INSERT INTO target [WITH (…)] query."""

    target: str
    query: SelectQuery
    properties: tuple[Property, ...] = ()


@dataclass(frozen=True, slots=True)
class InsertValues(Statement):
    """INSERT INTO target [(columns)] VALUES (values). `columns` () = all.

    If columns are qualified by their side, `parts` has ROWKEY, ROWVALUE or None for each. `places` has the positions of
    their names, or is empty.
    """

    target: str
    columns: tuple[str, ...]
    values: tuple[Expression, ...]
    parts: tuple[str | None, ...] = ()
    places: tuple[Span, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DeleteFrom(Statement):
    """DELETE FROM target WHERE condition."""

    target: str
    where: Expression


@dataclass(frozen=True, slots=True)
class QueryStatement(Statement):
    """A SELECT as a statement: a push query if `query.emit` is set, else a pull query."""

    query: SelectQuery


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
class CutOver(Statement):
    """ALTER STREAM|TABLE name CUT OVER [IF RUNNING]."""

    kind: SourceKind
    name: str
    if_running: bool


@dataclass(frozen=True, slots=True)
class AlterSystem(Statement):
    """ALTER SYSTEM 'name' = 'value'."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class AlterQuery(Statement):
    """ALTER QUERY id SET TASKS n."""

    query: str
    tasks: int


@dataclass(frozen=True, slots=True)
class TakeSavepoint(Statement):
    """SAVEPOINT id TO 'name'."""

    query: str
    name: str


class QueryVerb(Enum):
    """The commands for a running query."""

    TERMINATE = "TERMINATE"
    PAUSE = "PAUSE"
    RESUME = "RESUME"


@dataclass(frozen=True, slots=True)
class ControlQuery(Statement):
    """TERMINATE | PAUSE | RESUME id; `query` None means ALL."""

    verb: QueryVerb
    query: str | None


@dataclass(frozen=True, slots=True)
class Explain(Statement):
    """EXPLAIN statement or EXPLAIN id; exactly one of the two is set."""

    statement: Statement | None = None
    query: str | None = None


class Listing(Enum):
    """What SHOW and LIST can list."""

    STREAMS = "STREAMS"
    TABLES = "TABLES"
    TOPICS = "TOPICS"
    QUERIES = "QUERIES"
    FUNCTIONS = "FUNCTIONS"
    PROPERTIES = "PROPERTIES"
    TYPES = "TYPES"
    VARIABLES = "VARIABLES"
    INDEXES = "INDEXES"
    VIEWS = "VIEWS"
    CONNECTORS = "CONNECTORS"
    SOURCE_CONNECTORS = "SOURCE CONNECTORS"
    SINK_CONNECTORS = "SINK CONNECTORS"
    CONNECTOR_PLUGINS = "CONNECTOR PLUGINS"


@dataclass(frozen=True, slots=True)
class Show(Statement):
    """SHOW|LIST [ALL] listing [EXTENDED]; `all` only with TOPICS."""

    listing: Listing
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
class CreateIndex(Statement):
    """CREATE INDEX [IF NOT EXISTS] name ON table (column, …)."""

    name: str
    table: str
    columns: tuple[str, ...]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropIndex(Statement):
    """DROP INDEX [IF EXISTS] name."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateView(Statement):
    """CREATE [OR REPLACE] VIEW [IF NOT EXISTS] name AS query."""

    name: str
    query: SelectQuery
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropView(Statement):
    """DROP VIEW [IF EXISTS] name."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class FunctionParameter(SyntaxNode):
    """`name type` in the declaration of a function."""

    name: str
    type: SqlType


@dataclass(frozen=True, slots=True)
class FunctionHeader(SyntaxNode):
    """`(name type, …) -> type`: the signature of a function in a file."""

    parameters: tuple[FunctionParameter, ...]
    returns: SqlType


@dataclass(frozen=True, slots=True)
class Block(SyntaxNode):
    """`$$ text $$`: text in another language; its position is that of the first $$."""

    text: str


@dataclass(frozen=True, slots=True)
class CreateFunction(Statement):
    """CREATE [OR REPLACE] [AGGREGATE] FUNCTION [IF NOT EXISTS] name (…) RETURNS type LANGUAGE PYTHON AS $$ … $$.

    `strict`: RETURNS NULL ON NULL INPUT.
    """

    name: str
    parameters: tuple[FunctionParameter, ...]
    returns: SqlType
    body: Block
    aggregate: bool = False
    strict: bool = False
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropFunction(Statement):
    """DROP FUNCTION [IF EXISTS] name."""

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
    """RUN SCRIPT 'file' (a command of the shell)."""

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
    """The kinds of connectors, by keyword."""

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
