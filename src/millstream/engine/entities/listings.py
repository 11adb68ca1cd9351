"""The answers of SHOW and LIST."""

from collections.abc import Callable, Mapping
from typing import Any

from millstream.catalog.catalog import Catalog, PersistentQuery, RelationKind, Source, TableIndex
from millstream.engine.api import Entity
from millstream.engine.entities.build import entity
from millstream.engine.entities.types import schema_of
from millstream.functions import Library
from millstream.model.secrets import HIDDEN, shown
from millstream.model.setting import Setting, SettingScope
from millstream.model.setting_table import SETTINGS
from millstream.model.settings import STREAMS_PREFIX, check


def sources(text: str, catalog: Catalog, kind: RelationKind) -> Entity:
    """SHOW STREAMS, SHOW TABLES."""
    key = f"{kind.value.lower()}s"
    bodies = [_source(s) for s in _in_order(catalog) if s.kind is kind]
    return entity(key, text, **{key: bodies})


def _in_order(catalog: Catalog) -> list[Source]:
    return [catalog.sources[name] for name in sorted(catalog.sources)]


def _source(source: Source) -> dict[str, Any]:
    return {
        "type": source.kind.value,
        "name": source.name,
        "topic": source.topic,
        "keyFormat": source.key.format,
        "valueFormat": source.value.format,
        "isWindowed": source.windowed is not None,
    }


def indexes(text: str, catalog: Catalog, is_ready: Callable[[TableIndex], bool]) -> Entity:
    """SHOW INDEXES; `is_ready` says whether this server uses an index, because it has all rows of the table."""
    shown = [{"table": i.table, **index_body(i), "ready": is_ready(i)} for _, i in sorted(catalog.indexes.items())]
    return entity("indexes", text, indexes=shown)


def index_body(index: TableIndex) -> dict[str, Any]:
    """An index in lists and descriptions."""
    return {"name": index.name, "columns": list(index.columns), "statement": index.statement}


def queries(text: str, catalog: Catalog, state: Callable[[str], str], push: Mapping[str, str]) -> Entity:
    """SHOW QUERIES; `state` returns a persistent query's state, `push` has the running push queries' text by id."""
    bodies = [listed_query(q, catalog, state(q.id)) for q in catalog.queries.values()]
    return entity("queries", text, queries=bodies + [_push(id, statement) for id, statement in push.items()])


def listed_query(query: PersistentQuery, catalog: Catalog, state: str) -> dict[str, Any]:
    """A persistent query in lists and descriptions; `state` is its current one, such as RUNNING."""
    sink = catalog.sources.get(query.sink)
    return {
        "queryString": query.statement,
        "sinks": [query.sink],
        "sinkKafkaTopics": [sink.topic] if sink else [],
        "id": query.id,
        "statusCount": {state: 1},
        "queryType": "PERSISTENT",
        "state": state,
    }


def _push(id: str, statement: str) -> dict[str, Any]:
    return {
        "queryString": statement,
        "sinks": [],
        "sinkKafkaTopics": [],
        "id": id,
        "statusCount": {"RUNNING": 1},
        "queryType": "PUSH",
        "state": "RUNNING",
    }


def topics(text: str, replicas: Mapping[str, tuple[int, ...]]) -> Entity:
    """SHOW [ALL] TOPICS; `replicas` has the number of replicas of each partition of each topic to show."""
    shown = [{"name": n, "replicaInfo": list(r)} for n, r in replicas.items()]
    return entity("kafka_topics", text, topics=shown)


def topics_extended(
    text: str,
    topics: Mapping[str, tuple[int, ...]],
    readers: Mapping[str, tuple[int, int]],
    catalog: Catalog,
) -> Entity:
    """SHOW [ALL] TOPICS EXTENDED; `readers` has the number of consumers and groups of a topic.

    The formats are those of the sources over the topic; "" if there is none.
    """
    shown = []
    for name, replicas in topics.items():
        consumers, groups = readers.get(name, (0, 0))
        counts = {"consumerCount": consumers, "consumerGroupCount": groups}
        shown.append({"name": name, "replicaInfo": list(replicas), **counts, **_formats(name, catalog)})
    return entity("kafka_topics_extended", text, topics=shown)


def _formats(topic: str, catalog: Catalog) -> dict[str, str]:
    over = [catalog.sources[name] for name in sorted(catalog.sources) if catalog.sources[name].topic == topic]
    keys, values = dict.fromkeys(s.key.format for s in over), dict.fromkeys(s.value.format for s in over)
    return {"keyFormat": ", ".join(keys), "valueFormat": ", ".join(values)}


def properties(text: str, server: Mapping[str, str], configured: frozenset[str], session: Mapping[str, str]) -> Entity:
    """SHOW PROPERTIES: each value in effect and where it comes from; `configured` names those in the server's file.

    As in ksqlDB a property of Kafka Streams or of Kafka's clients has the prefix `ksql.streams.`.
    """
    known = {**SETTINGS, **{name: check(name) for name in session}}
    body = [_property(setting, server, configured, session) for setting in known.values()]
    default = [_property_name(known[name]) for name in set(SETTINGS) - configured - set(session)]
    return entity(
        "properties",
        text,
        properties=sorted(body, key=lambda property: property["name"]),
        overwrittenProperties=sorted(_property_name(known[name]) for name in session),
        defaultProperties=sorted(default),
    )


def _property_name(setting: Setting) -> str:
    bare = setting.scope is SettingScope.STREAMS and not setting.name.startswith(STREAMS_PREFIX)
    return f"{STREAMS_PREFIX}{setting.name}" if bare else setting.name


def _property(
    setting: Setting, server: Mapping[str, str], configured: frozenset[str], session: Mapping[str, str]
) -> dict[str, Any]:
    name = setting.name
    level = "SESSION" if name in session else "SERVER" if name in configured else "DEFAULT"
    value = session.get(name, server.get(name, setting.default))
    return {
        "name": _property_name(setting),
        "scope": (SettingScope.OWN if setting.scope is SettingScope.OWN else SettingScope.KSQL).value,
        "value": HIDDEN if setting.secret else shown(name, value),
        "editable": setting.editable,
        "level": level,
    }


def types(text: str, catalog: Catalog) -> Entity:
    """SHOW TYPES: the custom types by name, each as in entities.types.schema_of."""
    return entity("type_list", text, types={name: schema_of(type) for name, type in sorted(catalog.types.items())})


def variables(text: str, defined: Mapping[str, str]) -> Entity:
    """SHOW VARIABLES: the session's variables with their values."""
    return entity("variables", text, variables=[{"name": n, "value": v} for n, v in sorted(defined.items())])


def functions(text: str, library: Library) -> Entity:
    """SHOW FUNCTIONS: those that are built in, and the users' own."""
    body = [{"name": f.name, "type": f.kind.value, "category": f.category} for f in library]
    return entity("function_names", text, functions=body)
