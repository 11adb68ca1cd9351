"""What the planning of several kinds of statements shares: its input, and rules about names and topics."""

import re
from collections.abc import Mapping

from millstream.analysis.properties import Properties
from millstream.catalog.catalog import Catalog, RelationKind, Source, View
from millstream.catalog.facts import Facts
from millstream.model.errors import Span, StatementError
from millstream.model.names import did_you_mean, identifier, quoted
from millstream.model.settings import is_on
from millstream.plan.steps import Outcome, RegisterSchema
from millstream.syntax import tree

REPLACE_ENABLED = "ksql.create.or.replace.enabled"


class PlanningContext:
    """The input of planning a statement: its text, the catalog before it, the facts and the settings."""

    __slots__ = ("catalog", "facts", "settings", "text")

    def __init__(self, text: str, catalog: Catalog, facts: Facts, settings: Mapping[str, str]) -> None:
        self.text, self.catalog, self.facts, self.settings = text, catalog, facts, settings


def registrations(source: Source) -> list[RegisterSchema]:
    """The schemas of a source to register; a schema that is named by its id is registered already."""
    written = [s.schema for s in (source.key, source.value) if s.schema is not None and s.format != "PROTOBUF_NOSR"]
    return [RegisterSchema(physical) for physical in written]


def topic_config(
    source: Source, p: Properties, window_ms: int | None = None, inherited_ms: int | None = None
) -> dict[str, str]:
    """Kafka's settings of a source's new topic. Raises StatementError.

    `window_ms`: how long its windows are kept; `inherited_ms`: the retention of the topic that is read, if it has one
    of its own. The rows of windows are kept for the longer of both; -1 is for good.
    """
    written_ms = p.number("RETENTION_MS")
    retention_ms = inherited_ms if written_ms is None else written_ms
    if window_ms is not None:
        kept_ms = -1 if retention_ms == -1 else max(window_ms, retention_ms or 0)
        return {"cleanup.policy": "compact,delete", "retention.ms": str(kept_ms)}
    if source.kind is RelationKind.TABLE:
        if written_ms is not None:
            raise StatementError(
                "RETENTION_MS cannot be set for a table: its topic is compacted", p.place("RETENTION_MS")
            )
        return {"cleanup.policy": "compact"}
    return {"cleanup.policy": "delete"} | ({"retention.ms": str(retention_ms)} if retention_ms is not None else {})


def exists(statement: tree.CreateSource | tree.CreateAs, old: Source | View, context: PlanningContext) -> Outcome:
    """The outcome of CREATE for a name that is taken, without OR REPLACE. Raises StatementError."""
    kind = statement.kind.value.lower()
    old_kind = "view" if isinstance(old, View) else old.kind.value.lower()
    reason = f"A {old_kind} with the same name already exists"
    if not statement.if_not_exists:
        fact = f"Cannot add {kind} '{old.name}': {reason}"
        hint = "use CREATE OR REPLACE, or DROP it first"
        raise StatementError(fact, statement.span, "choose another name, or DROP VIEW" if old_kind == "view" else hint)
    message = f"Cannot add {kind} {quoted(old.name)}: {reason}."
    return Outcome(context.catalog, (), message, f"{kind}/`{old.name}`/create", warning=True)


def check_replacing(old: Source, at: Span, settings: Mapping[str, str]) -> None:
    """Raises StatementError if `old` may not be replaced at all."""
    if not is_on(settings, REPLACE_ENABLED):
        raise StatementError(f"CREATE OR REPLACE is switched off by {REPLACE_ENABLED}", at)
    if old.read_only:
        kind_text = old.kind.value.lower()
        raise StatementError(
            f"Cannot add {kind_text} '{old.name}': CREATE OR REPLACE is not supported on source {kind_text}s.", at
        )


def existing(name: str, at: Span, catalog: Catalog, kind_text: str = "Source") -> Source:
    """The source of a name; `kind_text` is what the error calls it. Raises StatementError."""
    source = catalog.sources.get(name)
    if source is None:
        raise StatementError(f"{kind_text} {identifier(name)} does not exist.", at, hint_of_unknown(name, catalog))
    return source


def hint_of_unknown(name: str, catalog: Catalog) -> str:
    """The hint of an error for a name that no source has: it is a view's, or similar to a source's; "" if neither."""
    return "it is a view, which can only be read" if name in catalog.views else did_you_mean(name, catalog.sources)


def altered_source(statement: tree.AlterSource | tree.CutOver, catalog: Catalog) -> Source:
    """The source that ALTER names. Raises StatementError, in the words of ksqlDB's DdlCommandExec."""
    source = existing(statement.name, statement.span, catalog)
    words = f"{source.kind.value}, but statement was ALTER {statement.kind.value}"
    _check_kind(source, statement.kind, words, statement)
    return source


def dropped_source(statement: tree.Drop, catalog: Catalog) -> Source:
    """The source that DROP names. Raises StatementError, in the words of ksqlDB's DropSourceFactory."""
    kind = statement.kind.value
    source = existing(statement.name, statement.span, catalog, kind.capitalize())
    words = f"{source.kind.value.lower()}, but statement was DROP {kind.lower()}"
    _check_kind(source, statement.kind, words, statement)
    return source


def _check_kind(source: Source, kind: tree.SourceKind, words: str, statement: tree.Statement) -> None:
    """Raises StatementError, with `words` at its end, if the source is of the other kind."""
    if source.kind.name != kind.name:
        hint = f"{identifier(source.name)} is a {source.kind.value.lower()}"
        raise StatementError(f"Incompatible data source type is {words}", statement.span, hint)


def plain(name: str) -> str:
    """A name as part of a query's id."""
    return re.sub("[^A-Za-z0-9_]", "_", name)
