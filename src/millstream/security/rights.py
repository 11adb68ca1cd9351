"""The rights that a statement needs, and on which sources and topics, decided from its tree.

INSERT INTO big SELECT * FROM orders WHERE amount > 10;

WRITE  on source BIG,    topic big
READ   on source ORDERS, topic orders
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from millstream.catalog.catalog import Catalog
from millstream.plan.rebuilding import rebuild_name
from millstream.syntax import tree


class Right(Enum):
    """A right that a role can have; `value` is its name in messages and files."""

    READ = "read"
    WRITE = "write"
    FUNCTIONS = "functions"
    ADMIN = "admin"


NEEDED: Mapping[type[tree.Statement], Right] = {
    tree.QueryStatement: Right.READ,
    tree.Print: Right.READ,
    tree.Show: Right.READ,
    tree.Describe: Right.READ,
    tree.DescribeAll: Right.READ,
    tree.DescribeFunction: Right.READ,
    tree.DescribeConnector: Right.READ,
    tree.Explain: Right.READ,
    tree.AssertTopic: Right.READ,
    tree.AssertSchema: Right.READ,
    tree.AssertValues: Right.READ,
    tree.AssertNullValues: Right.READ,
    tree.AssertSource: Right.READ,
    tree.SetProperty: Right.READ,
    tree.UnsetProperty: Right.READ,
    tree.Define: Right.READ,
    tree.Undefine: Right.READ,
    tree.RunScript: Right.READ,
    tree.CreateSource: Right.WRITE,
    tree.CreateAs: Right.WRITE,
    tree.InsertInto: Right.WRITE,
    tree.InsertValues: Right.WRITE,
    tree.DeleteFrom: Right.WRITE,
    tree.Drop: Right.WRITE,
    tree.AlterSource: Right.WRITE,
    tree.ControlQuery: Right.WRITE,
    tree.AlterQuery: Right.WRITE,
    tree.CutOver: Right.WRITE,
    tree.TakeSavepoint: Right.WRITE,
    tree.CreateType: Right.WRITE,
    tree.DropType: Right.WRITE,
    tree.CreateIndex: Right.WRITE,
    tree.DropIndex: Right.WRITE,
    tree.CreateView: Right.WRITE,
    tree.DropView: Right.WRITE,
    tree.CreateFunction: Right.FUNCTIONS,
    tree.DropFunction: Right.FUNCTIONS,
    tree.AlterSystem: Right.ADMIN,
    tree.CreateConnector: Right.ADMIN,
    tree.DropConnector: Right.ADMIN,
}


@dataclass(frozen=True, slots=True)
class Need:
    """A right that a statement needs; `source` and `topic` are its objects, None if it has none."""

    right: Right
    source: str | None = None
    topic: str | None = None


def needs(statement: tree.Statement, catalog: Catalog, topic_prefix: str = "") -> list[Need]:
    """All rights that a statement needs; an unknown class of statement needs the administrator's right.

    `topic_prefix` is the prefix of topics that CREATE … AS creates (ksql.output.topic.name.prefix).
    """
    right = NEEDED.get(type(statement), Right.ADMIN)
    return [Need(right), *_specific(statement, right, catalog, topic_prefix)]


def _specific(statement: tree.Statement, right: Right, catalog: Catalog, topic_prefix: str) -> Iterator[Need]:
    """The needs of a statement that depend on its sources, topics or queries; `right` is that of its class."""
    match statement:
        case tree.QueryStatement(query=query):
            yield from _read(query, catalog)
        case tree.Print(topic=topic) | tree.AssertTopic(topic=topic):
            yield Need(right, topic=topic)
        case tree.Describe(name=name) | tree.Drop(name=name) | tree.AlterSource(name=name) | tree.CutOver(name=name):
            yield from _of_source(right, name, catalog)
        case tree.CreateIndex(table=table):
            yield from _of_source(right, table, catalog)
        case tree.DropIndex(name=name) if name in catalog.indexes:
            yield from _of_source(right, catalog.indexes[name].table, catalog)
        case tree.CreateView():
            yield Need(right, statement.name)
            yield from _read(statement.query, catalog)
        case tree.DropView(name=name):
            yield Need(right, name)
        case tree.DescribeAll() | tree.Show(extended=True):
            yield from (need for name in catalog.sources for need in _of_source(right, name, catalog))
        case tree.CreateSource():
            yield Need(right, statement.name, _named_topic(statement.properties) or statement.name)
            yield from _of_source(right, statement.name, catalog)
        case tree.CreateAs():
            topic = _named_topic(statement.properties) or topic_prefix + statement.name
            yield Need(right, statement.name, topic)
            yield from _of_source(right, statement.name, catalog)
            if any(p.name == "REBUILD" for p in statement.properties):
                name = rebuild_name(statement.name, catalog)
                yield Need(right, name, _named_topic(statement.properties) or topic_prefix + name)
            yield from _read(statement.query, catalog)
        case tree.InsertInto():
            yield from _of_source(right, statement.target, catalog)
            yield from _read(statement.query, catalog)
        case tree.InsertValues() | tree.DeleteFrom():
            yield from _of_source(right, statement.target, catalog)
        case tree.ControlQuery(query=query_id) | tree.AlterQuery(query=query_id) | tree.TakeSavepoint(query=query_id):
            yield from _of_queries(right, query_id, catalog)
        case tree.Explain(query=str(query_id)):
            yield from _of_queries(right, query_id, catalog)
        case tree.Explain(statement=tree.Statement() as explained):
            inner = needs(explained, catalog, topic_prefix)
            yield from (Need(Right.READ, need.source, need.topic) for need in inner)


def _read(query: tree.SelectQuery, catalog: Catalog) -> Iterator[Need]:
    for name in query.tables_read():
        yield from _of_source(Right.READ, name, catalog)


def _of_source(right: Right, name: str, catalog: Catalog) -> Iterator[Need]:
    source = catalog.sources.get(name)
    yield Need(right, name, source.topic if source else None)


def _of_queries(right: Right, id: str | None, catalog: Catalog) -> Iterator[Need]:
    """The rights for what a persistent query writes and reads; for all queries if `id` is None."""
    for query in catalog.queries.values():
        if id is None or query.id.upper() == id.upper():
            for name in (query.sink, *query.sources):
                yield from _of_source(right, name, catalog)


def _named_topic(properties: tuple[tree.Property, ...]) -> str:
    return next((str(p.value.value) for p in properties if p.name == "KAFKA_TOPIC"), "")
