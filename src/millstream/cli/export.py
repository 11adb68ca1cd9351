"""`millstream export`: the statements that make what a server has, millstream's or ksqlDB's, as a file.

    CREATE TYPE total AS STRUCT<N BIGINT>;

    CREATE STREAM orders (id STRING KEY, …) WITH (…);

    SET 'auto.offset.reset' = 'earliest';

    CREATE TABLE per_item AS SELECT … FROM orders …;

Types and functions in Python come first, then the sources that only describe a topic, then those that are derived from
others, and views, each after those it reads, at last INSERT INTO … SELECT and indexes. A setting that millstream does
not take is a comment, and so are the savepoint that a query began with, which another server does not have, and the
former statement of a view that was replaced after the query was created.

With --switch-over each query that writes a stream begins where ksqlDB's stopped, and each table is built anew:

    SET 'millstream.start' = 'group:_confluent-ksql-shop_query_CSAS_PLACED_7';

    CREATE STREAM placed AS SELECT … FROM orders …;
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from millstream.cli.client import ClientError, Entity, ServerRefused
from millstream.cli.error_report import error_report
from millstream.cli.login import add_login, add_url, rest_client
from millstream.cli.main import formatter
from millstream.client.exchange import SessionSettings
from millstream.client.types import type_of_schema
from millstream.functions.python import CATEGORY
from millstream.model.names import identifier, literal
from millstream.model.query_start import EARLIEST, RESET, START
from millstream.model.setting_table import SAVEPOINT
from millstream.model.settings import SettingRefused, check_session

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

ABOUT = """\
Writes the statements that create the types, streams, tables, views, queries and indexes of a server, millstream's or
ksqlDB's, in an order in which they can be executed (docs/operations.md#statements-from-a-file)."""
EXAMPLES = """
examples:
  millstream export > shop.sql
  millstream export http://ksqldb:8088 -u ann > shop.sql
  millstream export http://ksqldb:8088 --switch-over > switch.sql
"""
LISTINGS = "LIST FUNCTIONS; LIST TYPES; LIST STREAMS EXTENDED; LIST TABLES EXTENDED; LIST QUERIES;"
# The stream that servers declare over their processing logs, unless a server's setting has another name.
LOG_STREAM = "KSQL_PROCESSING_LOG"


class StatementClient(Protocol):
    """What executes statements, as RestClient does."""

    def execute(self, text: str, context: SessionSettings, /) -> list[Entity]:
        """The entities that the statements answer. Raises ClientError."""
        ...


@dataclass(frozen=True, slots=True)
class ExportedQuery:
    """A persistent query: what it reads and writes, its statement, and the settings of the session that created it.

    `views` are the statements, by name, of the views that it reads, as they were when it was created; `group` is the
    consumer group whose positions are the query's, "" if the server does not say.
    """

    id: str
    sources: tuple[str, ...]
    sink: str
    statement: str
    settings: Mapping[str, str]
    views: Mapping[str, str]
    group: str


@dataclass(frozen=True, slots=True)
class ExportedView:
    """A view: the streams and tables, and the views, that it reads, and its statement."""

    name: str
    sources: tuple[str, ...]
    views: tuple[str, ...]
    statement: str


def add(subparsers: "Subparsers") -> None:
    """Add the command and its options to the command line's parser."""
    parser = subparsers.add_parser("export", description=ABOUT, epilog=EXAMPLES, formatter_class=formatter)
    add_url(parser)
    add_login(parser)
    parser.add_argument(
        "--switch-over",
        action="store_true",
        help="let each query that writes a stream begin where ksqlDB's stopped (docs/coming-from-ksqldb.md)",
    )


def run(args: argparse.Namespace) -> int:
    """Print the statements; returns 0, or 1 after an error."""
    try:
        paragraphs = list(exported(rest_client(args, {}), args.switch_over))
    except ClientError as error:
        print(error_report(error).text, file=sys.stderr)
        return 1
    print("\n\n".join(paragraphs))
    return 0


def exported(client: StatementClient, switch_over: bool = False) -> Iterator[str]:
    """The statements of a server, and comments, each a paragraph. Raises ClientError.

    `switch_over`: each query that writes a stream begins at the positions of its consumer group.
    """
    session = SessionSettings()
    functions, types, streams, tables, listed = client.execute(LISTINGS, session)
    for name, schema in types["types"].items():
        yield f"CREATE TYPE {identifier(name)} AS {type_of_schema(schema).short()};"
    yield from _functions(client, [f["name"] for f in functions["functions"] if f["category"] == CATEGORY], session)
    sources = {s["name"]: s for e in (streams, tables) for s in e["sourceDescriptions"] if s["name"] != LOG_STREAM}
    queries = [_query(client, q["id"], session) for q in listed["queries"] if q.get("queryType") == "PERSISTENT"]
    if switch_over:
        names, service = {table["name"] for table in tables["sourceDescriptions"]}, _service(client)
        queries = [_switched_over(query, query.sink in names, service) for query in queries]
    inserting = [query for query in queries if query.statement.lstrip().upper().startswith("INSERT")]
    deriving = {query.sink: query for query in queries if query not in inserting}
    views = {view.name: view for view in _views(client, session)}
    for name in sorted(sources.keys() - deriving.keys()):
        yield _ended(sources[name]["statement"])
    yield from _of_queries([*_in_order({**views, **deriving}), *inserting], views)
    for source in sources.values():
        yield from (_ended(index["statement"]) for index in source.get("indexes", ()))


def _functions(client: StatementClient, names: Iterable[str], session: SessionSettings) -> Iterator[str]:
    """The statements of functions in Python. Those of a server's files are there without a statement."""
    for name in names:
        statement = client.execute(f"DESCRIBE FUNCTION {identifier(name)};", session)[0]["statement"]
        if statement:
            yield _ended(statement)


def _views(client: StatementClient, session: SessionSettings) -> Iterator[ExportedView]:
    try:
        (listed,) = client.execute("SHOW VIEWS;", session)
    except ServerRefused:
        # ksqlDB has no views.
        return
    for view in listed["views"]:
        yield ExportedView(view["name"], tuple(view["sources"]), tuple(view["views"]), view["statement"])


def _query(client: StatementClient, id: str, session: SessionSettings) -> ExportedQuery:
    body: dict[str, Any] = client.execute(f"EXPLAIN {identifier(id)};", session)[0]["queryDescription"]
    settings = {name: str(value) for name, value in (body.get("overriddenProperties") or {}).items()}
    views = {view["name"]: view["statement"] for view in body.get("views", ())}
    group = body.get("consumerGroupId") or ""
    return ExportedQuery(id, tuple(body["sources"]), body["sinks"][0], body["statementText"], settings, views, group)


def _switched_over(query: ExportedQuery, writes_table: bool, service: str) -> ExportedQuery:
    """The query with the settings that let it begin where ksqlDB's stopped; a table's state is built from all rows."""
    if writes_table:
        own = {name: value for name, value in query.settings.items() if not name.endswith(RESET)}
        return replace(query, settings={**own, RESET: EARLIEST})
    group = query.group or f"_confluent-ksql-{service}query_{query.id}"
    return replace(query, settings={**query.settings, START: f"group:{group}"})


def _service(client: StatementClient) -> str:
    """The server's service id."""
    (listed,) = client.execute("SHOW PROPERTIES;", SessionSettings())
    return next(str(p["value"]) for p in listed["properties"] if p["name"] == "ksql.service.id")


def _in_order(deriving: Mapping[str, ExportedQuery | ExportedView]) -> Iterator[ExportedQuery | ExportedView]:
    """The views, and the queries that create sources, each after those that create what it reads."""
    waiting = dict(deriving)
    while waiting:
        ready = [name for name, item in waiting.items() if not waiting.keys() & {*item.sources, *item.views} - {name}]
        # Sources cannot be derived from one another in a circle; if a server says so, its order is as good as any.
        for name in ready or list(waiting):
            yield waiting.pop(name)


def _of_queries(items: Iterable[ExportedQuery | ExportedView], views: Mapping[str, ExportedView]) -> Iterator[str]:
    """The statements of queries and views, with SET and UNSET where settings change."""
    current: dict[str, str] = {}
    for query in items:
        if isinstance(query, ExportedView):
            yield _ended(query.statement)
            continue
        settings, comments = _valid_settings(query.settings)
        savepoint = settings.pop(SAVEPOINT, "")
        lines = [f"UNSET {literal(name)};" for name in current if name not in settings]
        lines += [f"SET {literal(n)} = {literal(v)};" for n, v in settings.items() if current.get(n) != v]
        current = settings
        yield from (_comment(f"{query.id} has a setting that millstream does not take: {text}") for text in comments)
        for name, former in query.views.items():
            if name not in views or views[name].statement != former:
                yield _comment(f"{query.id} was created when this view was\n{former}")
        if savepoint:
            yield _comment(f"{query.id} began with the savepoint {savepoint}")
        if lines:
            yield "\n".join(lines)
        yield _ended(query.statement)


def _valid_settings(settings: Mapping[str, str]) -> tuple[dict[str, str], Sequence[str]]:
    """The settings that a session may have, by their own names, and texts about the others."""
    valid, comments = dict[str, str](), list[str]()
    for name, value in settings.items():
        try:
            valid[check_session(name, value, {}).name] = value
        except SettingRefused as refused:
            comments.append(f"{name}={value} ({refused.fact_and_hint[0]})")
    return valid, comments


def _comment(text: str) -> str:
    return "\n".join(f"-- {line}" for line in text.splitlines())


def _ended(statement: str) -> str:
    text = statement.strip()
    return text if text.endswith(";") else f"{text};"
