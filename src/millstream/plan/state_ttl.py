"""The property STATE_TTL of CREATE … AS: how long the state of a group without rows is kept.

Rules: docs/reference/windows-and-time.md#groups-that-expire.

`CREATE TABLE seen WITH (state_ttl='7 DAYS') AS SELECT user, COUNT(*) AS n FROM clicks GROUP BY user;` forgets a user
seven days after the last click, in the time of the records, and writes a tombstone.
"""

from dataclasses import replace

from millstream.analysis.properties import Properties
from millstream.catalog.catalog import RelationKind
from millstream.model.errors import StatementError
from millstream.plan.nodes import Aggregate, Deduplicate, DistinctArguments, LastTime, OverAggregate, PlanNode, Select

STATE_TTL = "STATE_TTL"


def with_state_ttl(plan: Select, p: Properties) -> Select:
    """The plan whose groups without windows, rows of DISTINCT and rows of OVER expire after the STATE_TTL of `p`.

    Without STATE_TTL it is `plan` itself. Raises StatementError if the query has none of these.
    """
    ttl_ms = p.number(STATE_TTL)
    if ttl_ms is None:
        return plan
    if any(isinstance(node, DistinctArguments) for node in plan.walk()):
        fact = f"{STATE_TTL} and DISTINCT in an aggregate cannot be together: the values of a group would be forgotten"
        raise StatementError(fact, p.place(STATE_TTL), "a WINDOW, or COUNT_DISTINCT, which estimates")
    expiring = [node for node in plan.walk() if _can_expire(node)]
    if not expiring:
        over_table = any(isinstance(node, Aggregate) and node.source.kind is RelationKind.TABLE for node in plan.walk())
        windows = "windows have RETENTION and GRACE PERIOD, OVER with RANGE has GRACE PERIOD"
        fact = f"{STATE_TTL} is for the groups of a stream without a window, for SELECT DISTINCT, and for OVER"
        hint = "rows that leave a group of a table undo what it has counted" if over_table else windows
        raise StatementError(fact, p.place(STATE_TTL), hint)

    def with_ttl(node: PlanNode) -> PlanNode | None:
        if not isinstance(node, Aggregate | Deduplicate | OverAggregate) or node not in expiring:
            return None
        return replace(node, ttl_ms=ttl_ms, source=node.source.transform(with_ttl))

    return plan.transform(with_ttl)


def _can_expire(node: PlanNode) -> bool:
    if isinstance(node, Aggregate):
        return node.window is None and node.source.kind is RelationKind.STREAM
    if isinstance(node, OverAggregate):
        return not isinstance(node.frame, LastTime)
    return isinstance(node, Deduplicate)
