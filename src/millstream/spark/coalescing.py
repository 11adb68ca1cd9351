"""How the changes of a table's keys are coalesced, as Kafka Streams' record caches do it: by a query's settings, and at
the place where that saves most.

    CREATE TABLE …, a change of a key may wait for 1 s                   waits
    SELECT city, COUNT(*) FROM s GROUP BY city                           in the operator, 1 s: the row is not computed
    SELECT n, COUNT(*) FROM (SELECT … COUNT(*) AS n …) GROUP BY n        in each of two operators, 0.5 s
    SELECT * FROM t WHERE v > 10; groups in sessions                     in the sink, 1 s: the record is not written

In an operator changes wait as jvm/WaitingChanges.scala has it, in the sink as jvm/RecordCache.scala has it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import UnionType

from millstream.catalog.catalog import RelationKind
from millstream.plan.nodes import Aggregate, Filter, PlanNode, Select, Write, groups


@dataclass(frozen=True, slots=True)
class Coalescing:
    """For how long changes may wait: for `interval` ms at most; with 0, until their batch is saved or ends. Those that
    wait in one task have `bytes` at most; with 0, none waits."""

    bytes: int
    interval: int


# Every change is passed on at once: no bytes may wait.
EACH_CHANGE = Coalescing(0, 0)


@dataclass(frozen=True, slots=True)
class QueryCoalescing:
    """How the changes of a query are coalesced: in each operator that can do so, and as records in the sink.

    `repeats`: a run that crashed may have written a row and not saved it. The next run repeats the change; if it
    coalesced that with later ones, it might write nothing that retracts the row (jvm/WaitingChanges.scala has an
    example). So a run that is not the first one coalesces only after it has read its backlog.
    """

    operators: Coalescing = EACH_CHANGE
    records: Coalescing = EACH_CHANGE
    repeats: bool = False


# No change waits, neither in an operator nor in the sink.
NO_COALESCING = QueryCoalescing()


def coalescing(plan: Write, settings: Mapping[str, str], tasks: int, in_transactions: bool) -> QueryCoalescing:
    """How a query with `tasks` tasks coalesces changes: they and its operators share the settings' bytes and time.

    A record that is committed with its batch cannot be read before, and waits for it. Rows of EMIT FINAL are not
    delayed, since each group's window has only one, and nothing could replace it.
    """
    size, interval = record_cache_size(settings), int(settings["commit.interval.ms"])
    grouped = tuple(groups(plan))
    is_final = bool(grouped) and _is_final(grouped[0])
    if plan.kind is not RelationKind.TABLE or is_final or not size or not interval:
        return NO_COALESCING
    operators, in_operator = _operators(plan.source), not _changes_anew(plan.source)
    places = operators if in_operator else operators + 1
    each = Coalescing(max(size // tasks // places, 1), 0 if in_transactions else max(interval // places, 1))
    # If a grouping is the only operator, and nothing filters its rows, each change overwrites the row of its key. With
    # transactions, a run that crashed leaves no rows behind.
    is_only_group = operators == len(grouped) == 1 and isinstance(_below(plan.source, Select), Aggregate)
    repeats = operators > 0 and not is_only_group and not in_transactions
    return QueryCoalescing(each, EACH_CHANGE if in_operator else each, repeats)


def record_cache_size(settings: Mapping[str, str]) -> int:
    """How many bytes of changes of a query may wait to be replaced; 0 if none may. The newer name of Kafka Streams'
    setting precedes the older one."""
    size = int(settings["statestore.cache.max.bytes"])
    return size if size >= 0 else int(settings["cache.max.bytes.buffering"])


def _operators(node: PlanNode) -> int:
    """The operators that can coalesce changes, of those that a row goes through, at most."""
    return _operators_of(node) + max(map(_operators, node.children()), default=0)


def _operators_of(node: PlanNode) -> int:
    """The folds of this node that can (aggregates.py)."""
    if not isinstance(node, Aggregate) or _is_final(node) or (node.window and node.window.type == "SESSION"):
        return 0
    return 2 if node.source.kind is RelationKind.TABLE and coalesces_rows(node) else 1


def _is_final(node: Aggregate) -> bool:
    """True if each of its windows has one row, when it closes."""
    return node.window is not None and node.window.final


def coalesces_rows(node: Aggregate) -> bool:
    """True if the fold that stores the rows of a table, before they are grouped, can coalesce their changes.

    It does so if the changes have not waited in an operator already, as those of a group have.
    """
    return _changes_anew(node.source)


def _changes_anew(node: PlanNode) -> bool:
    """True if the changes of a node's rows have not waited in an operator; a filter only drops some."""
    return not _operators_of(_below(node, Select | Filter))


def _below(node: PlanNode, kinds: type[Select] | UnionType) -> PlanNode:
    """The first node of another kind."""
    while isinstance(node, kinds):
        node = next(node.children())
    return node
