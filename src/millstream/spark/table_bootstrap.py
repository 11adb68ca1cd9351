"""The gate: at a query's start streams wait until the tables that they look rows up in have been read (DESIGN.md §4).

A lane is a table of a join; its place is that of its Read among the plan's leaves, which is that of its join in the
chain. Where the JVM knows of no gate for a query, nobody waits.
"""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from millstream.catalog.catalog import RelationKind
from millstream.plan.nodes import PlanNode, leaves, lookup_tables
from millstream.spark import jvm
from millstream.spark.constants import quoted


def shut(session: SparkSession, query: str, plan: PlanNode, ends: Mapping[str, Mapping[int, int]]) -> None:
    """Before a query starts: shut its gate, if its streams look rows up in tables.

    `ends` says where the tables' topics end now, topic → partition → offset.
    """
    if not lookup_tables(plan):
        return
    tables = sum(leaf.kind is RelationKind.TABLE for leaf in leaves(plan))
    waited = {f"{topic}/{partition}": str(end) for topic, found in ends.items() for partition, end in found.items()}
    jvm.module(session, "Gates").shut(query, tables, jvm.java_map(session, waited))


def end(session: SparkSession, query: str) -> None:
    """After a query's end: forget its gate, if it had one."""
    jvm.module(session, "Gates").end(query)


def lane(query: str, place: int) -> str:
    """The name of a lane, as the JVM knows it."""
    return f"{place} {query}"


def source(records: DataFrame, query: str, kind: RelationKind, place: int) -> DataFrame:
    """The records of a source, with their column offset: those of a stream wait, those of a table are waited for."""
    if kind is RelationKind.STREAM:
        return records.where(f"ms_gate_hold({quoted(query)})")
    return records.where(f"ms_gate_read({quoted(lane(query, place))}, offset)")


def sent(rows: DataFrame, query: str, place: int) -> DataFrame:
    """The rows of a table that go to their fold, counted; they have the columns partition and offset."""
    return rows.where(f"ms_gate_sent({quoted(lane(query, place))}, partition, offset)")
