"""DELETE FROM … WHERE: which rows of a table it deletes (docs/reference/statements.md#delete-from).

    DELETE FROM customers WHERE name IN ('ann', 'bob') OR name = 'eve';
    lookups: name ∈ {'ann', 'bob'}, name ∈ {'eve'}  →  records without a value, with the keys ann, bob and eve

A record without a value is written for each key that the statement names, whether the table has the row or not: so a
table that is only declared can be written to as well, and no row has to be read.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from millstream.analysis.expressions import resolved_condition
from millstream.analysis.record_views import to_logical_expression
from millstream.catalog.catalog import Catalog, RelationKind, Source
from millstream.model.errors import StatementError
from millstream.model.names import identifier
from millstream.plan.inserts import check_enabled, writable
from millstream.plan.pull_queries import KeyLookup, key_lookups
from millstream.plan.queries import read_source
from millstream.syntax import tree

# The records of a statement are encoded and acknowledged together: so many keys take seconds.
MOST_KEYS = 10_000


@dataclass(frozen=True, slots=True)
class DeletedKeys:
    """A planned DELETE FROM: the keys that `lookups` name, of the table `sink`."""

    sink: Source
    lookups: tuple[KeyLookup, ...]


def deleted_keys(statement: tree.DeleteFrom, catalog: Catalog, settings: Mapping[str, str]) -> DeletedKeys:
    """The keys that the statement deletes. Raises StatementError, if its WHERE does not name whole keys too."""
    check_enabled(settings, statement.span)
    sink = writable(statement.target, statement.span, catalog, "delete rows of")
    name = identifier(sink.name)
    if sink.kind is RelationKind.STREAM:
        hint = "Kafka removes a stream's records by its topic's retention.ms"
        raise StatementError(f"Cannot delete rows of a stream: {name}", statement.span, hint)
    scope = read_source(sink, sink.name, catalog, settings).scope
    where = to_logical_expression(statement.where, sink)
    lookups = key_lookups(resolved_condition(where, scope, "WHERE"), sink)
    if lookups is None:
        key = ", ".join(identifier(column.name) for column in sink.schema.key)
        fact = f"DELETE FROM {name} needs a WHERE that gives its key ({key}) values by = or IN, and nothing else"
        hint = f"SELECT {key} FROM {name} WHERE … finds keys" if sink.created_by is not None else ""
        raise StatementError(fact, statement.where.span, hint)
    number = sum(math.prod(map(len, lookup.keys)) for lookup in lookups)
    if number > MOST_KEYS:
        fact = f"DELETE FROM {name} names {number} keys, and may name {MOST_KEYS}"
        raise StatementError(fact, statement.where.span, "write several statements")
    return DeletedKeys(sink, lookups)
