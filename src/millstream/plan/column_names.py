"""Resolves the sources that FROM names, and chooses names for columns without an alias."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from millstream.catalog.catalog import Catalog, Source
from millstream.model.errors import StatementError
from millstream.model.names import did_you_mean, identifier
from millstream.syntax import tree

_NUMBERED = re.compile(r"_[0-9]+\Z")


@dataclass(slots=True)
class Aliases:
    """Generates unique column names.

    `used_names` are the names of the sources' columns and those generated so far, `keys` maps an expression that became
    a key column to that column's name, `next` is the number of the next KSQL_COL_n. Names in `shared` occur in several
    sources: such columns are named SOURCE_COLUMN.
    """

    used_names: set[str]
    keys: dict[tree.Expression, str] = field(default_factory=dict)
    next: int = 0
    shared: frozenset[str] = frozenset()

    def of(self, expression: tree.Expression, alias: str | None = None) -> str:
        """The name of a projected expression: its alias, if it has one.

        Else a column keeps its name, a struct field gets the field's name without a number at its end, LINE for LINE_2
        (with _n if that is taken), anything else KSQL_COL_n.
        """
        if alias is not None:
            return alias
        if isinstance(expression, tree.ColumnRef):
            return self._of_column(expression)
        if expression in self.keys:
            return self.keys[expression]
        return self._free(expression.field) if isinstance(expression, tree.Deref) else self._generated()

    def _of_column(self, column: tree.ColumnRef) -> str:
        return f"{column.source}_{column.name}" if column.source and column.name in self.shared else column.name

    def of_key(self, expression: tree.Expression, name: str | None) -> str:
        """The name of a new key column: `name`, or a generated one if it is None.

        It is recorded, so that the same expression in the projection gets the same name.
        """
        self.keys[expression] = self.of(expression, name)
        return self.keys[expression]

    def reserve(self, keys: Iterable[tree.Expression], items: Sequence[tree.SelectOne]) -> None:
        """Records the names of the key columns among the projected `items`, which are counted in their order.

        In SELECT -a, a + 1 … PARTITION BY a + 1 the key is KSQL_COL_1. One with an alias uses no number up.
        """
        computed = {e for e in keys if not isinstance(e, tree.ColumnRef)}
        trial = self._copy()
        names = [(item.expression, trial.of(item.expression, item.alias), item.alias) for item in items]
        own = {expression: name for expression, name, alias in names if alias is None and expression in computed}
        self.keys.update(own)
        self.used_names.update(own.values())
        trial = self._copy()
        aliased = [expression for expression, _, alias in names if alias is not None and expression in computed]
        self.keys.update({expression: trial.of(expression) for expression in aliased if expression not in own})

    def _copy(self) -> "Aliases":
        return replace(self, used_names=set(self.used_names), keys=dict(self.keys))

    def _free(self, field: str) -> str:
        name = _NUMBERED.sub("", field) or field
        candidate, n = name, 0
        while candidate in self.used_names:
            n += 1
            candidate = f"{name}_{n}"
        self.used_names.add(candidate)
        return candidate

    def _generated(self) -> str:
        while (name := f"KSQL_COL_{self.next}") in self.used_names:
            self.next += 1
        self.next += 1
        self.used_names.add(name)
        return name


def origin(source: tree.FromSource, catalog: Catalog) -> Source:
    """The stream or table that a FROM item names. Raises StatementError if it is not in the catalog."""
    if source.name not in catalog.sources:
        raise StatementError(
            f"{identifier(source.name)} does not exist: no stream or table has that name",
            source.span,
            did_you_mean(source.name, [*catalog.sources, *catalog.views]),
        )
    return catalog.sources[source.name]
