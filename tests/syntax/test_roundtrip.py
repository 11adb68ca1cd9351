"""Any tree prints as text that parses back to an equal tree."""

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millstream.model import types
from millstream.syntax import parser, tree
from millstream.syntax.printer import to_sql

QUICK = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
FEW = settings(QUICK, max_examples=40)

# Words that may be keywords or names are the ones worth trying.
WORDS = "A B C a EMIT CHANGES PARTITION ARRAY MAP STRUCT KEY TABLES FUNCTION SELECT FROM DAYS DAY DECIMAL IF"
NAME = st.sampled_from([*WORDS.split(), "1x", "a b", "`", '"', "é;", "''", "--"])
WORD = st.from_regex(r"[A-Za-z_][A-Za-z0-9_@]{0,5}", fullmatch=True)
TEXT = st.text(st.sampled_from("ab'\"`;-/*${}\n é"), max_size=6)
COUNT = st.integers(0, 2**31 - 1)
INTERVAL = st.integers(1, 2**31 - 1)


def some(items: st.SearchStrategy, least: int = 0) -> st.SearchStrategy:
    return st.lists(items, min_size=least, max_size=3).map(tuple)


def maybe(item: st.SearchStrategy) -> st.SearchStrategy:
    return st.none() | item


def _decimal(digits: int, scale: int) -> tree.Literal:
    value = Decimal(digits).scaleb(-scale)
    precision = len(value.as_tuple().digits)
    return tree.Literal(value, types.Decimal(max(precision, scale + 1), scale))


TYPE = st.recursive(
    st.sampled_from([*types.PRIMITIVES.values(), types.Decimal(4, 2), types.CustomType("T"), types.CustomType("a b")]),
    lambda t: st.one_of(
        st.builds(types.Array, t),
        st.builds(types.Map, t, t),
        st.builds(types.Struct, some(st.builds(types.Field, NAME, t))),
    ),
    max_leaves=4,
)
LITERAL = st.one_of(
    st.just(tree.Literal(None, None)),
    st.booleans().map(lambda v: tree.Literal(v, types.BOOLEAN)),
    st.integers(-(2**31), 2**31 - 1).map(lambda v: tree.Literal(v, types.INTEGER)),
    st.integers(2**31, 2**63 - 1).map(lambda v: tree.Literal(v, types.BIGINT)),
    st.integers(-(2**63), -(2**31) - 1).map(lambda v: tree.Literal(v, types.BIGINT)),
    st.builds(_decimal, st.integers(-(10**20), 10**20), st.integers(0, 22)),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda v: tree.Literal(v, types.DOUBLE)),
    TEXT.map(lambda v: tree.Literal(v, types.STRING)),
)
COMPARISONS = ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]
UNITS = ["MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS", "MONTHS", "YEARS"]
DURATION = st.builds(tree.Duration, COUNT, st.sampled_from(UNITS[:5]))
FRAME = st.builds(tree.RowsFrame, st.integers(0, 2**31 - 1)) | st.builds(tree.RangeFrame, DURATION, maybe(DURATION))


def _expressions(e: st.SearchStrategy) -> st.SearchStrategy:
    zone = TEXT.map(lambda v: tree.Literal(v, types.STRING))
    argument = e | st.builds(tree.Lambda, some(NAME, 1), e) | st.builds(tree.Unit, st.sampled_from(UNITS))
    return st.one_of(
        st.builds(tree.Deref, e, NAME),
        st.builds(tree.Subscript, e, e),
        st.builds(tree.Call, NAME, some(argument)),
        st.builds(tree.Call, NAME, st.just(()), st.just(True)),
        st.builds(tree.Call, NAME, some(argument, 1), st.just(False), st.booleans(), e),
        st.builds(tree.Call, NAME, some(argument, 1), st.just(False), st.just(True)),
        st.builds(
            tree.Call,
            NAME,
            some(argument, 1),
            filter=st.none() | e,
            over=st.builds(tree.OverClause, some(e), maybe(FRAME)),
        ),
        st.builds(tree.Arithmetic, st.sampled_from("+-*/%"), e, e),
        st.builds(tree.Concatenation, e, e),
        st.builds(tree.Sign, st.sampled_from("+-"), e),
        st.builds(tree.Comparison, st.sampled_from(COMPARISONS), e, e),
        st.builds(tree.Logical, st.sampled_from(["AND", "OR"]), e, e),
        st.builds(tree.Not, e),
        st.builds(tree.IsNull, e, st.booleans()),
        st.builds(tree.Between, e, e, e, st.booleans()),
        st.builds(tree.InList, e, some(e, 1), st.booleans()),
        st.builds(tree.Like, e, e, maybe(st.sampled_from("!'")), st.booleans()),
        st.builds(tree.Case, some(st.builds(tree.When, e, e), 1), maybe(e), maybe(e)),
        st.builds(tree.Cast, e, TYPE),
        st.builds(tree.ArrayOf, some(e)),
        st.builds(tree.MapOf, some(st.tuples(e, e))),
        st.builds(tree.StructOf, some(st.tuples(NAME, e))),
        st.builds(tree.AtTimeZone, e, zone),
    )


REF = st.builds(tree.ColumnRef, NAME, maybe(NAME)) | st.builds(tree.ColumnRef, NAME, NAME, st.sampled_from(tree.PARTS))
EXPRESSION = st.recursive(LITERAL | REF | st.builds(tree.TypedText, NAME, TEXT), _expressions, max_leaves=8)
# Where the point is the statement around it.
SMALL = LITERAL | REF | st.builds(tree.Logical, st.just("AND"), REF, REF)

GRACE = {"retention": maybe(DURATION), "grace": maybe(DURATION)}
WINDOW = st.one_of(
    st.builds(tree.WindowClause, st.just(tree.WindowKind.TUMBLING), DURATION, **GRACE),
    st.builds(tree.WindowClause, st.just(tree.WindowKind.SESSION), DURATION, **GRACE),
    st.builds(tree.WindowClause, st.just(tree.WindowKind.HOPPING), DURATION, DURATION, **GRACE),
)
TABLE = st.builds(tree.FromSource, NAME, maybe(NAME))
ITEM = st.one_of(
    st.builds(tree.SelectOne, SMALL, maybe(NAME)),
    st.builds(tree.SelectAll, maybe(NAME)),
    st.builds(tree.SelectFields, EXPRESSION),
)
WITHIN = st.builds(tree.Within, DURATION, DURATION, maybe(DURATION))
ORDER = st.builds(tree.OrderItem, SMALL, st.booleans(), maybe(st.booleans()))
# A query's own ORDER BY, EMIT, LIMIT and OFFSET; a branch of a UNION has them in parentheses only.
BRANCH = st.builds(tree.SelectQuery, some(ITEM, 1), TABLE, distinct=st.booleans())
INNER = st.builds(
    tree.SelectQuery, some(ITEM, 1), TABLE, limit=maybe(COUNT), order_by=some(ORDER), offset=st.integers(0, 9)
)


def _derived(alias: str | None, query: tree.SelectQuery) -> tree.FromSource:
    return tree.FromQuery(alias or "", alias, query=query)


def _union(alias: str | None, branches: tuple[tree.SelectQuery, ...], distinct: bool) -> tree.FromSource:
    return tree.FromUnion(alias or "", alias, branches=branches, distinct=distinct)


SOURCE = st.one_of(
    TABLE,
    st.builds(_derived, maybe(NAME), INNER),
    st.builds(_union, maybe(NAME), st.tuples(BRANCH, BRANCH), st.booleans()),
)
JOIN = st.builds(tree.JoinClause, st.sampled_from(tree.JoinKind), SOURCE, SMALL, maybe(WITHIN))
QUERY = st.builds(
    tree.SelectQuery,
    some(ITEM, 1),
    SOURCE,
    some(JOIN),
    maybe(WINDOW),
    maybe(SMALL),
    maybe(some(EXPRESSION)),
    maybe(some(EXPRESSION)),
    maybe(SMALL),
    maybe(st.sampled_from(tree.Emit)),
    maybe(COUNT),
    distinct=st.booleans(),
    order_by=some(ORDER),
    offset=st.integers(0, 9),
)

KIND = st.sampled_from(tree.SourceKind)
FLAG = st.booleans()
PLAIN_MARK = st.sampled_from([m for m in tree.ColumnMark if m is not tree.ColumnMark.HEADER])
COLUMN = st.builds(tree.ColumnDef, NAME, TYPE, maybe(PLAIN_MARK)) | st.builds(
    tree.ColumnDef, NAME, TYPE, st.just(tree.ColumnMark.HEADER), TEXT
)
ADDED = st.builds(tree.ColumnDef, NAME, TYPE)
PROPERTIES = some(st.builds(tree.Property, NAME.map(str.upper), LITERAL))
SETTINGS = some(st.builds(tree.Property, TEXT, LITERAL), 1)
LISTING = st.sampled_from(tree.Listing)
EXTENDABLE = st.sampled_from([tree.Listing[x] for x in ("STREAMS", "TABLES", "TOPICS", "QUERIES")])
TOPICS = st.just(tree.Listing.TOPICS)
VALUES = some(SMALL)
PARAMETER = st.builds(tree.FunctionParameter, NAME, TYPE)
BLOCK = st.builds(tree.Block, TEXT.map(lambda text: text.replace("$", "€")))

STATEMENTS: dict[type[tree.Statement], st.SearchStrategy] = {
    tree.CreateSource: st.builds(tree.CreateSource, KIND, NAME, some(COLUMN), PROPERTIES, FLAG, FLAG, FLAG),
    tree.CreateAs: st.builds(tree.CreateAs, KIND, NAME, QUERY, PROPERTIES, FLAG, FLAG),
    tree.InsertInto: st.builds(tree.InsertInto, NAME, QUERY, PROPERTIES),
    tree.InsertValues: st.builds(tree.InsertValues, NAME, some(NAME), VALUES),
    tree.DeleteFrom: st.builds(tree.DeleteFrom, NAME, EXPRESSION),
    tree.QueryStatement: st.builds(tree.QueryStatement, QUERY),
    tree.Drop: st.builds(tree.Drop, KIND, NAME, FLAG, FLAG),
    tree.AlterSource: st.builds(tree.AlterSource, KIND, NAME, some(ADDED, 1)),
    tree.AlterSystem: st.builds(tree.AlterSystem, TEXT, TEXT),
    tree.CutOver: st.builds(tree.CutOver, KIND, NAME, FLAG),
    tree.AlterQuery: st.builds(tree.AlterQuery, NAME, COUNT),
    tree.TakeSavepoint: st.builds(tree.TakeSavepoint, NAME, TEXT),
    tree.ControlQuery: st.builds(tree.ControlQuery, st.sampled_from(tree.QueryVerb), maybe(NAME)),
    tree.Show: st.builds(tree.Show, LISTING)
    | st.builds(tree.Show, EXTENDABLE, FLAG)
    | st.builds(tree.Show, TOPICS, FLAG, FLAG),
    tree.Describe: st.builds(tree.Describe, NAME, FLAG),
    tree.DescribeAll: st.builds(tree.DescribeAll, KIND, FLAG),
    tree.DescribeFunction: st.builds(tree.DescribeFunction, NAME),
    tree.DescribeConnector: st.builds(tree.DescribeConnector, NAME),
    tree.Print: st.builds(tree.Print, NAME, FLAG, maybe(INTERVAL), maybe(COUNT)),
    tree.CreateType: st.builds(tree.CreateType, NAME, TYPE, FLAG),
    tree.DropType: st.builds(tree.DropType, NAME, FLAG),
    tree.CreateIndex: st.builds(tree.CreateIndex, NAME, NAME, some(NAME, 1), FLAG),
    tree.CreateView: st.builds(tree.CreateView, NAME, QUERY, FLAG, FLAG),
    tree.DropView: st.builds(tree.DropView, NAME, FLAG),
    tree.DropIndex: st.builds(tree.DropIndex, NAME, FLAG),
    tree.CreateFunction: st.builds(tree.CreateFunction, NAME, some(PARAMETER), TYPE, BLOCK, FLAG, FLAG, FLAG, FLAG),
    tree.DropFunction: st.builds(tree.DropFunction, NAME, FLAG),
    tree.Define: st.builds(tree.Define, WORD, TEXT),
    tree.Undefine: st.builds(tree.Undefine, WORD),
    tree.SetProperty: st.builds(tree.SetProperty, TEXT, TEXT),
    tree.UnsetProperty: st.builds(tree.UnsetProperty, TEXT),
    tree.RunScript: st.builds(tree.RunScript, TEXT),
    tree.AssertTopic: st.builds(tree.AssertTopic, NAME, PROPERTIES, maybe(DURATION), FLAG),
    tree.AssertSchema: st.builds(tree.AssertSchema, maybe(NAME), maybe(COUNT), maybe(DURATION), FLAG),
    tree.AssertValues: st.builds(tree.AssertValues, NAME, some(NAME), VALUES),
    tree.AssertNullValues: st.builds(tree.AssertNullValues, NAME, some(NAME), VALUES),
    tree.AssertSource: st.builds(tree.AssertSource, KIND, NAME, some(COLUMN), PROPERTIES),
    tree.CreateConnector: st.builds(tree.CreateConnector, st.sampled_from(tree.ConnectorKind), NAME, SETTINGS, FLAG),
    tree.DropConnector: st.builds(tree.DropConnector, NAME, FLAG),
}
STATEMENTS[tree.Explain] = st.builds(tree.Explain, st.one_of(*STATEMENTS.values())) | st.builds(
    tree.Explain, query=NAME
)


def test_every_statement_is_tried() -> None:
    kinds = {kind for kind in vars(tree).values() if isinstance(kind, type) and issubclass(kind, tree.Statement)}
    assert kinds - {tree.Statement} == set(STATEMENTS)


@QUICK
@given(EXPRESSION)
def test_expressions(e: tree.Expression) -> None:
    assert parser.parse_expression(to_sql(e)) == e


@pytest.mark.slow
@QUICK
@given(QUERY)
def test_queries(query: tree.SelectQuery) -> None:
    assert parser.parse_one(to_sql(query)) == tree.QueryStatement(query)


@QUICK
@given(st.one_of(*STATEMENTS.values()))
def test_statements(statement: tree.Statement) -> None:
    assert parser.parse(to_sql(statement) + ";") == [statement]


@FEW
@given(TYPE)
def test_types(sql_type: types.SqlType) -> None:
    assert parser.parse_type(to_sql(sql_type)) == sql_type
