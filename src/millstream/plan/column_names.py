"""What a query's FROM names, and what columns without alias are called."""

from dataclasses import dataclass, field

from millstream.catalog.catalog import Catalog, Source
from millstream.model.errors import StatementError
from millstream.model.names import did_you_mean, identifier
from millstream.syntax import tree


@dataclass(slots=True)
class Aliases:
    """Makes names for columns that have none; `taken` are those of the sources' columns and those made so far.

    `keys` are the expressions that became key columns under a name of their own. A name in `shared` is that of
    columns of several sources: theirs begin with the source's.
    """

    taken: set[str]
    keys: dict[tree.Expression, str] = field(default_factory=dict)
    next: int = 0
    shared: frozenset[str] = frozenset()

    def of(self, expression: tree.Expression) -> str:
        """The name of an expression without alias: a column's own, a field's (numbered where taken), KSQL_COL_n."""
        if isinstance(expression, tree.ColumnRef):
            return self._of_column(expression)
        if expression in self.keys:
            return self.keys[expression]
        return self._free(expression.field) if isinstance(expression, tree.Deref) else self._generated()

    def _of_column(self, column: tree.ColumnRef) -> str:
        return f"{column.source}_{column.name}" if column.source and column.name in self.shared else column.name

    def of_key(self, expression: tree.Expression, name: str | None) -> str:
        """The name of a new key column: `name` if there is one. The expression has the same name in the projection."""
        self.keys[expression] = name or self.of(expression)
        return self.keys[expression]

    def _free(self, name: str) -> str:
        candidate, n = name, 0
        while candidate in self.taken:
            n += 1
            candidate = f"{name}_{n}"
        self.taken.add(candidate)
        return candidate

    def _generated(self) -> str:
        while (name := f"KSQL_COL_{self.next}") in self.taken:
            self.next += 1
        self.next += 1
        self.taken.add(name)
        return name


def origin(source: tree.FromSource, catalog: Catalog) -> Source:
    """The stream or table that FROM names. Raises StatementError where there is none."""
    if source.name not in catalog.sources:
        raise StatementError(
            f"{identifier(source.name)} does not exist: no stream or table has that name",
            source.span,
            did_you_mean(source.name, catalog.sources),
        )
    return catalog.sources[source.name]
