"""How long the Spark SQL of an aggregation over a table may be: an argument or a state is not written out again."""

from collections.abc import Iterator

import pytest

from millstream.catalog.catalog import RelationKind
from millstream.functions import FUNCTIONS
from millstream.functions.declare import FunctionKind, Parameter, Signature
from millstream.model.settings import effective
from millstream.model.types import INTEGER, STRING, Decimal, Map
from millstream.plan.nodes import Aggregate, PlanNode
from millstream.spark.aggregates import _TableFolds
from millstream.spark.group_folds import AggregateRun
from millstream.syntax.parser import split
from millstream.tester.play import PlayResult, apply

# The number of characters of update and emit together; substituting texts for values resulted in 20,000.
LONGEST = 2_100
COLUMNS = {
    "INTEGER": "i",
    "BIGINT": "b",
    "DOUBLE": "d",
    "STRING": "s",
    "BYTES": "y",
    "DATE": "dt",
    "TIME": "tm",
    "TIMESTAMP": "ts",
    "DECIMAL": "m",
    "ARRAY<INTEGER>": "ai",
    "ARRAY<BIGINT>": "ab",
    "ARRAY<DOUBLE>": "ad",
}
# The types for a pattern of types.
EXAMPLES = {"DECIMAL": Decimal(10, 2), "T": Map(STRING, INTEGER), "ANY": STRING}
SETTINGS = effective({}, {})
TABLE = (
    "CREATE TABLE s (id INT PRIMARY KEY, g STRING, i INTEGER, b BIGINT, d DOUBLE, s STRING, y BYTES, dt DATE, tm TIME, "
    "ts TIMESTAMP, m DECIMAL(10, 2), ai ARRAY<INTEGER>, ab ARRAY<BIGINT>, ad ARRAY<DOUBLE>, mp MAP<STRING, INTEGER>) "
    "WITH (kafka_topic='s', value_format='JSON', partitions=1);"
)


def calls() -> Iterator[str]:
    """A call of every signature of every aggregate that can take a row back; generic ones over a MAP."""
    for name, one in FUNCTIONS.items():
        for signature in one.signatures if one.kind is FunctionKind.AGGREGATE else ():
            if takes_back(signature):
                yield f"{name}({', '.join(arguments(signature))})"


def arguments(signature: Signature) -> Iterator[str]:
    constant = len(signature.parameters) - signature.constants
    for at, parameter in enumerate(signature.parameters):
        yield "3" if at >= constant and parameter.type == INTEGER else column(parameter)


def column(parameter: Parameter) -> str:
    return COLUMNS.get(str(parameter.type), "mp" if str(parameter.type) == "T" else "s")


def takes_back(signature: Signature) -> bool:
    assert signature.accumulating is not None
    types = [EXAMPLES.get(str(p.type), p.type) for p in signature.parameters]
    return signature.accumulating(types, [3] * len(types), SETTINGS).undo is not None


def aggregation(call: str) -> Aggregate:
    played = PlayResult(settings=SETTINGS)
    for parsed in split(f"{TABLE} CREATE TABLE t AS SELECT g, {call} AS x FROM s GROUP BY g;"):
        apply(parsed.statement, parsed.text, played)
    (query,) = played.queries.values()
    return _aggregate(query.plan)


def _aggregate(node: PlanNode) -> Aggregate:
    return node if isinstance(node, Aggregate) else _aggregate(next(node.children()))


CALLS = sorted(set(calls()))


def test_there_are_calls_of_all_aggregates_with_undo() -> None:
    names = {call.partition("(")[0] for call in CALLS}
    assert {"ATTR", "AVG", "COLLECT_LIST", "CORRELATION", "HISTOGRAM", "STDDEV_SAMP", "STDDEV_SAMPLE"} < names
    assert len(CALLS) > 23


@pytest.mark.parametrize("call", CALLS)
def test_an_aggregate_over_a_table_is_short(call: str) -> None:
    node = aggregation(call)
    assert node.source.kind is RelationKind.TABLE
    fold = _TableFolds(node, AggregateRun("q", live=False, old=True)).of_table()
    assert len(fold.update) + len(fold.emit) <= LONGEST
