"""Whether rows of one group, or with one join key, come from one partition of a source.

    s (id STRING KEY, v INT), t (id STRING PRIMARY KEY), two partitions each
    FROM s GROUP BY id                                            one partition: a record's key says which
    FROM s GROUP BY v                                             several
    FROM s JOIN t ON s.id = t.id GROUP BY s.id                    one: both are read from partitions of one number
    FROM s JOIN t ON s.v = t.id GROUP BY t.id                     several, those of s
    FROM (SELECT v AS k FROM s PARTITION BY v) GROUP BY k         several

If it is one partition, stream time is that partition's; else the greatest of all (docs/design/004). In ksqlDB, rows of
several partitions are written to a repartition topic, whose reader has one stream time for all.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from millstream.analysis.typed_expressions import ColumnPlace, ColumnReference, TypedExpression, bare
from millstream.plan.nodes import (
    Aggregate,
    Deduplicate,
    DistinctArguments,
    Filter,
    Flatten,
    Join,
    OverAggregate,
    PlanNode,
    Read,
    Select,
    joins,
    key_refs,
    refs,
)


def mixes_partitions(node: Aggregate | Deduplicate | DistinctArguments | Join | OverAggregate) -> bool:
    """True if rows that a stateful node treats together may come from several partitions of a source."""
    match node:
        case Aggregate() | OverAggregate():
            is_by_key = _is_key(node.source, [key.expression for key in node.keys])
        case Deduplicate():
            is_by_key = _is_key(node.source, key_refs(node.source.schema))
        case DistinctArguments():
            is_by_key = _is_key(node.source, node.keys)
        case Join():
            is_by_key = True
    return not is_by_key or any(_moves_rows(join) for join in joins(node))


def _moves_rows(join: Join) -> bool:
    sides = ((join.left, join.left_keys), (join.right, join.right_keys))
    return any(join.repartitions) or not all(_is_key(side, keys) for side, keys in sides)


def _is_key(node: PlanNode, expressions: Sequence[TypedExpression]) -> bool:
    """True if expressions over a node's rows are the whole key of the records that these come from."""
    match node:
        case Read():
            return bool(expressions) and _bare(expressions) == _bare(key_refs(node.schema))
        case Filter() | Deduplicate() | DistinctArguments():
            return _is_key(node.source, expressions)
        case OverAggregate() if not _is_key(node.source, [key.expression for key in node.keys]):
            return False
        case Flatten() | OverAggregate():
            known = _bare(refs(node.source.schema))
            return all(e in known for e in _bare(expressions)) and _is_key(node.source, expressions)
        case Select():
            named = {ColumnPlace.KEY: node.keys, ColumnPlace.VALUE: node.columns}
            places = [(named.get(e.where), e.index) for e in expressions if isinstance(e, ColumnReference)]
            selected = [columns[index].expression for columns, index in places if columns is not None]
            return len(selected) == len(expressions) and _is_key(node.source, selected)
        case Join(foreign=False):
            return _is_joined(node, expressions)
        case _:
            return False


def _is_joined(join: Join, expressions: Sequence[TypedExpression]) -> bool:
    """True if expressions over joined rows are their key, or the columns with that of a side."""
    references = [e for e in expressions if isinstance(e, ColumnReference)]
    if len(references) != len(expressions):
        return False
    if all(r.where is ColumnPlace.KEY for r in references):
        return [r.index for r in references] == list(range(len(join.names)))
    if not all(r.where is ColumnPlace.VALUE for r in references):
        return False
    values = len(join.left.schema.value)
    if all(r.index < values for r in references):
        return _is_key(join.left, references)
    rights = [replace(r, index=r.index - values) for r in references if r.index >= values]
    return len(rights) == len(references) and _is_key(join.right, rights)


def _bare(expressions: Iterable[TypedExpression]) -> list[TypedExpression]:
    return [bare(expression) for expression in expressions]
