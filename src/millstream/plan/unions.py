"""The columns of a UNION: matched by position, and of the branches' common types."""

from collections.abc import Sequence

from millstream.analysis.coercion import agreed_type, cast_hint
from millstream.model.errors import Span, StatementError
from millstream.model.names import identifier
from millstream.model.types import SqlType


def common_types(branches: Sequence[Sequence[tuple[str, SqlType]]], places: Sequence[Span]) -> list[SqlType]:
    """The type of each column of a UNION; `branches` have the names and types of their columns.

    Raises StatementError if a branch has another number of columns, or types without a common type; `places` has the
    position of each branch, which the error is at.
    """
    types = [type for _, type in branches[0]]
    for branch, at in zip(branches[1:], places[1:], strict=True):
        if len(branch) != len(types):
            fact = f"a branch of a UNION has {len(branch)} columns, the first one has {len(types)}"
            raise StatementError(fact, at)
        types = [_agreed(type, name, own, at) for type, (name, own) in zip(types, branch, strict=True)]
    return types


def _agreed(type: SqlType, name: str, own: SqlType, at: Span) -> SqlType:
    agreed = agreed_type(type, own)
    if agreed is None:
        fact = f"column {identifier(name)} of a UNION's branch is {own}, and {type} in those before it"
        raise StatementError(fact, at, cast_hint(type, own))
    return agreed
