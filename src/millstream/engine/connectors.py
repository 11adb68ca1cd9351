"""CREATE, DROP, DESCRIBE and SHOW CONNECTOR: executed by Kafka Connect during the request, not by the command log."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import singledispatch

from millstream.catalog.catalog import Catalog, Source
from millstream.engine.api import Entity, RequestFailed
from millstream.engine.connect import EXISTS, HOW_TO_GET_ONE, LOGIN_REFUSED, URL, ConnectClient, ConnectFailed
from millstream.engine.context import EngineContext, StatementContext
from millstream.engine.entities import build
from millstream.engine.entities import connectors as entities
from millstream.model.errors import Span, StatementError
from millstream.model.names import did_you_mean
from millstream.model.secrets import masked, without_values
from millstream.syntax import tree
from millstream.syntax.tree import Listing

LISTINGS = {
    Listing.CONNECTORS: None,
    Listing.SOURCE_CONNECTORS: "source",
    Listing.SINK_CONNECTORS: "sink",
}
PLUGINS = Listing.CONNECTOR_PLUGINS
CLASS = "connector.class"
NOT_FOUND, CONFLICT = 404, 409
SERVER_ERROR = 50000
LOGIN_HINT = "the server's login for Kafka Connect is in ksql.connect.basic.auth.credentials.file"
# The connectors for which ksqlDB has a template: "key" names the column that becomes the record's key.
JDBC_SOURCES = frozenset({"io.confluent.connect.jdbc.JdbcSourceConnector", "JdbcSourceConnector", "JdbcSource"})
TRANSFORMS = "org.apache.kafka.connect.transforms"
Readable = Callable[[Source], bool]


def is_about_connectors(statement: tree.Statement) -> bool:
    """True if Kafka Connect executes the statement."""
    if isinstance(statement, tree.Show):
        return statement.listing in LISTINGS or statement.listing is PLUGINS
    return isinstance(statement, tree.CreateConnector | tree.DropConnector | tree.DescribeConnector)


def execute(context: StatementContext, engine: EngineContext, readable: Readable) -> Entity:
    """Execute a statement about connectors; returns its entity. `readable`: the sources that the user may DESCRIBE.

    Raises StatementError for what Connect refuses of a configuration, and RequestFailed with the status of Connect.
    """
    statement = context.statement
    if engine.connect is None:
        raise StatementError(f"no Kafka Connect is configured: {URL} is empty", statement.span, HOW_TO_GET_ONE)
    catalog = engine.state.catalog
    sources = tuple(catalog.sources[name] for name in sorted(catalog.sources) if readable(catalog.sources[name]))
    try:
        return _answer(statement, ConnectorContext(masked(context.text), engine.connect, catalog, sources))
    except ConnectFailed as failure:
        secret = configuration(statement) if isinstance(statement, tree.CreateConnector) else {}
        raise _refusal(failure, statement.span, context.text, secret) from failure


@dataclass(frozen=True, slots=True)
class ConnectorContext:
    """What a statement about connectors is executed with: its text without secrets, the client, the catalog, and the
    sources that its user may read."""

    text: str
    client: ConnectClient
    catalog: Catalog
    sources: tuple[Source, ...]


def _refusal(failure: ConnectFailed, at: Span | None, text: str, config: Mapping[str, str]) -> RequestFailed:
    """Connect's error with its text and its status, without the secrets of `config`."""
    # Connect has refused the server's own login: its status 401 would make clients ask the user for another login.
    refused_login = failure.status in LOGIN_REFUSED
    code = failure.status * 100 if failure.status and not refused_login else SERVER_ERROR
    hint = LOGIN_HINT if refused_login else failure.hint
    return RequestFailed(code, str(StatementError(without_values(failure.fact, config), at, hint)), text)


@singledispatch
def _answer(statement: tree.Statement, context: ConnectorContext) -> Entity:
    raise NotImplementedError(type(statement).__name__)


# ---------------------------------------------------------------- CREATE, DROP


@_answer.register
def _(statement: tree.CreateConnector, context: ConnectorContext) -> Entity:
    name, client = statement.name, context.client
    # As in ksqlDB, names that differ in case only are one.
    if any(existing.upper() == name.upper() for existing in client.names()):
        if statement.if_not_exists:
            return build.warning(context.text, f"Connector {name} {EXISTS}")
        raise ConnectFailed(f"Connector {name} {EXISTS}", CONFLICT, "IF NOT EXISTS keeps it; DROP CONNECTOR removes it")
    config = configuration(statement)
    _validate(statement, config, client)
    return entities.created(context.text, client.create(name, config), statement.kind)


def configuration(statement: tree.CreateConnector) -> dict[str, str]:
    """The configuration that Connect gets: the properties as text, with the connector's name, after ksqlDB's template.

    Raises StatementError for a property that is set twice, or has no value.
    """
    config: dict[str, str] = {}
    for property in statement.properties:
        if property.name in config:
            raise StatementError(f'property "{property.name}" is set twice', property.span)
        if property.value.value is None:
            raise StatementError(f'property "{property.name}" has no value', property.span, "leave it out")
        config[property.name] = _text(property.value.value)
    return {**with_key(config), "name": statement.name}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def with_key(config: Mapping[str, str]) -> dict[str, str]:
    """A configuration by ksqlDB's template: of a JDBC source, the column that "key" names becomes the record's key."""
    if config.get(CLASS) not in JDBC_SOURCES or "key" not in config:
        return dict(config)
    rest = {name: value for name, value in config.items() if name != "key"}
    chain = ["ksqlCreateKey", "ksqlExtractString", *filter(None, [config.get("transforms")])]
    return {
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        **rest,
        "transforms": ",".join(chain),
        "transforms.ksqlCreateKey.type": f"{TRANSFORMS}.ValueToKey",
        "transforms.ksqlCreateKey.fields": config["key"],
        "transforms.ksqlExtractString.type": f"{TRANSFORMS}.ExtractField$Key",
        "transforms.ksqlExtractString.field": config["key"],
    }


def _validate(statement: tree.CreateConnector, config: Mapping[str, str], client: ConnectClient) -> None:
    """Raises StatementError if Connect has no such connector, or refuses its configuration."""
    spans = {property.name: property.span for property in statement.properties}
    plugin = config.get(CLASS, "").strip()
    if not plugin:
        raise StatementError(
            f'the configuration has no "{CLASS}"', statement.span, "SHOW CONNECTOR PLUGINS lists the classes"
        )
    try:
        refused = client.validate(plugin, config)
    except ConnectFailed as failure:
        _check_class(plugin, spans[CLASS], client, failure)
        raise
    if refused:
        at = next((spans[name] for name, _ in refused if name in spans), statement.span)
        errors = "\n".join(f"{name} - {'. '.join(errors)}" for name, errors in refused)
        raise StatementError(f"Validation error: {without_values(errors, config)}", at)


def _check_class(plugin: str, at: Span | None, client: ConnectClient, failure: ConnectFailed) -> None:
    """Raises StatementError if the validation failed since Connect has no such class; it names all classes itself."""
    if not failure.status:
        return
    classes = [name for listed in client.plugins() for name in _names_of_class(listed["class"])]
    if plugin not in classes:
        hint = "SHOW CONNECTOR PLUGINS lists those it has; others go into a folder of its plugin.path"
        raise StatementError(
            f'Kafka Connect has no connector class "{plugin}"', at, _suggestion(plugin, classes) or hint
        )


def _names_of_class(name: str) -> tuple[str, ...]:
    """The names by which Connect finds a class: whole, without the package, and without "Connector" too."""
    simple = name.rpartition(".")[2]
    return (name, simple, simple.removesuffix("Connector"))


def _suggestion(plugin: str, classes: Iterable[str]) -> str:
    return did_you_mean(plugin, classes).replace("`", "'")


@_answer.register
def _(statement: tree.DropConnector, context: ConnectorContext) -> Entity:
    try:
        context.client.delete(statement.name)
    except ConnectFailed as failure:
        if failure.status == NOT_FOUND and statement.if_exists:
            return build.warning(context.text, f"Connector '{statement.name}' does not exist.")
        raise _with_similar_name(failure, statement.name, context.client) from failure
    return entities.dropped(context.text, statement.name)


def _with_similar_name(failure: ConnectFailed, name: str, client: ConnectClient) -> ConnectFailed:
    """A failure with a hint to the name that was meant, if there is no connector of this one."""
    hint = did_you_mean(name, client.names()) if failure.status == NOT_FOUND else ""
    return ConnectFailed(failure.fact, failure.status, hint or failure.hint)


# ---------------------------------------------------------------- DESCRIBE, SHOW


@_answer.register
def _(statement: tree.DescribeConnector, context: ConnectorContext) -> Entity:
    name, client = statement.name, context.client
    try:
        info = client.info(name)
    except ConnectFailed as failure:
        raise _with_similar_name(failure, name, client) from failure
    try:
        topics, warning = client.topics(name), ""
    except ConnectFailed as failure:
        topics, warning = [], f"Could not list related topics due to error: {failure.fact}"
    sources = [source for source in context.sources if source.topic in topics]
    status = _status(name, client, info)
    return entities.description(context.text, info, status, topics, sources, context.catalog, warning)


def _status(name: str, client: ConnectClient, info: Entity) -> Entity:
    """A connector's state; Connect does not have it until a worker has started the connector."""
    try:
        return client.status(name)
    except ConnectFailed as failure:
        if failure.status != NOT_FOUND:
            raise
        return {"name": name, "connector": entities.UNASSIGNED, "tasks": [], "type": info.get("type")}


@_answer.register
def _(statement: tree.Show, context: ConnectorContext) -> Entity:
    if statement.listing is PLUGINS:
        return entities.plugins(context.text, context.client.plugins())
    return entities.listing(context.text, context.client.connectors(), LISTINGS[statement.listing])
