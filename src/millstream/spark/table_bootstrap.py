"""The table bootstrap barrier: when a query starts, its streams wait until the tables that they join are read.

A stream's row is joined with the table's row that is present when the stream's row arrives, so a table that is read too
late loses matches. jvm/TableBootstrapBarrier.scala has an example. A table input is named by its query and by the index
of its Read among the plan's leaves. If the JVM has no barrier for a query, nothing waits.
"""

from collections.abc import Mapping

from pyspark.sql import SparkSession

from millstream.catalog.catalog import RelationKind
from millstream.functions.operator_expressions import quoted
from millstream.plan.nodes import PlanNode, leaves, lookup_tables
from millstream.spark import jvm
from millstream.spark.lazy_frame import LazyFrame


def create(session: SparkSession, query: str, plan: PlanNode, ends: Mapping[str, Mapping[int, int]]) -> None:
    """Call before a query starts: create its barrier, if its streams look up rows in tables.

    `ends` has the end offsets of the tables' topics, topic → partition → offset.
    """
    if not lookup_tables(plan):
        return
    tables = sum(leaf.kind is RelationKind.TABLE for leaf in leaves(plan))
    offsets = {f"{topic}/{partition}": str(end) for topic, each in ends.items() for partition, end in each.items()}
    jvm.module(session, "TableBootstrapBarriers").create(query, tables, jvm.java_map(session, offsets))


def remove(session: SparkSession, query: str) -> None:
    """Call after a query's end: remove its barrier, if it has one."""
    jvm.module(session, "TableBootstrapBarriers").remove(query)


def table_input(query: str, index: int) -> str:
    """The name of a table input in the JVM."""
    return f"{index} {query}"


def source(records: LazyFrame, query: str, kind: RelationKind, index: int) -> LazyFrame:
    """The records of a source, with their column offset: a stream's wait, the reading of a table's is reported."""
    if kind is RelationKind.STREAM:
        return records.where(f"ms_barrier_hold({quoted(query)})")
    return records.where(f"ms_barrier_read({quoted(table_input(query, index))}, offset)")


def sent(rows: LazyFrame, query: str, index: int) -> LazyFrame:
    """A table's rows that go to their operator, counted; they have the columns partition and offset."""
    return rows.where(f"ms_barrier_sent({quoted(table_input(query, index))}, partition, offset)")
