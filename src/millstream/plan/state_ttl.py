"""The property STATE_TTL of CREATE TABLE … AS: how long a group without rows is kept (docs/reference/statements.md).

`CREATE TABLE seen WITH (state_ttl='7 DAYS') AS SELECT user, COUNT(*) AS n FROM clicks GROUP BY user;` forgets a user
seven days after the last click, in the time of the records, and writes a tombstone.
"""

from dataclasses import replace

from millstream.analysis.properties import Properties
from millstream.catalog.catalog import RelationKind
from millstream.model.errors import StatementError
from millstream.plan.nodes import Aggregate, PlanNode, Select

STATE_TTL = "STATE_TTL"


def with_state_ttl(plan: Select, p: Properties) -> Select:
    """The plan whose groups without windows expire after the STATE_TTL of `p`, if that has one.

    Raises StatementError if the query has no such group, or one over a table.
    """
    ttl_ms = p.number(STATE_TTL)
    if ttl_ms is None:
        return plan
    groups = [node for node in plan.walk() if isinstance(node, Aggregate) and node.window is None]
    expiring = [group for group in groups if group.source.kind is RelationKind.STREAM]
    if not expiring:
        over_table = "rows that leave a group of a table undo what it has counted" if groups else ""
        windows = "windows have RETENTION and GRACE PERIOD"
        fact = f"{STATE_TTL} is for the groups of a stream, without a window"
        raise StatementError(fact, p.place(STATE_TTL), over_table or windows)

    def with_ttl(node: PlanNode) -> PlanNode | None:
        if not isinstance(node, Aggregate) or node not in expiring:
            return None
        return replace(node, ttl_ms=ttl_ms, source=node.source.transform(with_ttl))

    return plan.transform(with_ttl)
