"""Formats the answers of statements for the shell, one function for each kind of entity."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from millstream.cli.display import Grid, Part, Sql, Text
from millstream.client.types import type_of_schema

Entity = Mapping[str, Any]
Show = Callable[[Entity], list[Part]]


def parts(entity: Entity) -> list[Part]:
    """The parts to show for an entity; an unknown kind is shown as JSON."""
    show = SHOWN.get(entity.get("@type", ""), _as_json)
    warnings = [
        Text(f"warning: {warning.get('message', warning)}", "warning") for warning in entity.get("warnings") or ()
    ]
    return [*show(entity), *warnings]


def _as_json(entity: Entity) -> list[Part]:
    rest = {name: value for name, value in entity.items() if name not in ("@type", "statementText", "warnings")}
    return [Text(json.dumps(rest, indent=2, ensure_ascii=False))]


def _status(entity: Entity) -> list[Part]:
    status = entity.get("commandStatus", {})
    message = status.get("message") or status.get("status", "")
    return [Text(message, "warning" if status.get("status") == "ERROR" else "good")]


def _message(entity: Entity) -> list[Part]:
    return [Text(entity.get("message", ""))]


def _warning(entity: Entity) -> list[Part]:
    return [Text(entity.get("message", ""), "warning")]


def _sources(member: str) -> Show:
    def show(entity: Entity) -> list[Part]:
        columns = ("Name", "Topic", "Key format", "Value format", "Windowed")
        names = ("name", "topic", "keyFormat", "valueFormat", "isWindowed")
        return [_grid(columns, names, entity.get(member, ()), f"no {member} yet")]

    return show


def _queries(entity: Entity) -> list[Part]:
    rows = [
        (
            query.get("id"),
            query.get("queryType"),
            ", ".join(f"{state}:{count}" for state, count in (query.get("statusCount") or {}).items()),
            ", ".join(query.get("sinks") or ()),
            _one_line(query.get("queryString", "")),
        )
        for query in entity.get("queries", ())
    ]
    return [Grid(("Query", "Type", "Status", "Sink", "SQL"), rows) if rows else Text("no queries are running", "dim")]


_EXTENDED = {
    "Consumers": "consumerCount",
    "Groups": "consumerGroupCount",
    "Key format": "keyFormat",
    "Value format": "valueFormat",
}


def _topics(entity: Entity) -> list[Part]:
    topics = entity.get("topics", ())
    extended = entity.get("@type") == "kafka_topics_extended"
    columns = ("Topic", "Partitions", "Replicas", *(_EXTENDED if extended else ()))
    rows = [
        (
            topic.get("name"),
            len(topic.get("replicaInfo", ())),
            max(topic.get("replicaInfo") or (0,)),
            *((topic.get(name) for name in _EXTENDED.values()) if extended else ()),
        )
        for topic in topics
    ]
    return [Grid(columns, rows, frozenset({1, 2, 3, 4})) if rows else Text("no topics", "dim")]


def _properties(entity: Entity) -> list[Part]:
    columns, names = ("Property", "Scope", "Level", "Value"), ("name", "scope", "level", "value")
    return [_grid(columns, names, entity.get("properties", ()), "no properties")]


def _functions(entity: Entity) -> list[Part]:
    columns, names = ("Function", "Type", "Category"), ("name", "type", "category")
    return [_grid(columns, names, entity.get("functions", ()), "no functions")]


def _types(entity: Entity) -> list[Part]:
    rows = [(name, type_of_schema(schema).short()) for name, schema in entity.get("types", {}).items()]
    return [Grid(("Type", "Definition"), rows) if rows else Text("no types yet", "dim")]


def _indexes(entity: Entity) -> list[Part]:
    indexes = entity.get("indexes", ())
    rows = [(i.get("name"), i.get("table"), ", ".join(i["columns"]), "yes" if i["ready"] else "no") for i in indexes]
    return [Grid(("Index", "Table", "Columns", "Ready"), rows) if rows else Text("no indexes yet", "dim")]


def _views(entity: Entity) -> list[Part]:
    views = entity.get("views", ())
    rows = [(v.get("name"), _view_type(v), ", ".join(v["sources"])) for v in views]
    return [Grid(("View", "Rows", "Reads"), rows) if rows else Text("no views yet", "dim")]


def _view_type(view: Entity) -> str:
    return (view.get("type") or "cannot be read").lower()


def _view_description(entity: Entity) -> list[Part]:
    view = entity["viewDescription"]
    fields = [_field(field)[:2] for field in view.get("fields", ())]
    facts = [
        ("Rows", f"those of a {view['type'].lower()}" if view.get("type") else ""),
        ("Reads", ", ".join(view.get("sources", ()))),
        ("Read by", ", ".join(view.get("readQueries", ()))),
    ]
    return [
        Text(f"View {view.get('name')}", "title"),
        *([Grid(("Column", "Type"), fields)] if fields else ()),
        *([Text(view["error"], "warning")] if view.get("error") else ()),
        _facts(facts),
        *_statement(view.get("statement")),
    ]


def _variables(entity: Entity) -> list[Part]:
    columns, names = ("Variable", "Value"), ("name", "value")
    return [_grid(columns, names, entity.get("variables", ()), "no variables yet")]


def _source_description(entity: Entity) -> list[Part]:
    return _source(entity["sourceDescription"])


def _source_descriptions(entity: Entity) -> list[Part]:
    descriptions = entity.get("sourceDescriptions", ())
    return [part for source in descriptions for part in _source(source)] or [Text("nothing to describe yet", "dim")]


def _source(source: Entity) -> list[Part]:
    fields = Grid(("Column", "Type", ""), [_field(field) for field in source.get("fields", ())])
    shown: list[Part] = [Text(f"{source.get('type', '').title()} {source.get('name')}", "title"), fields]
    for index in source.get("indexes") or ():
        shown.append(Text(f"index {index.get('name')} ({', '.join(index.get('columns', ()))})"))
    return [*shown, *_source_details(source)] if source.get("extended") else shown


def _field(field: Entity) -> tuple[str, str, str]:
    mark = str(field.get("type") or "").lower()
    header = f" '{field['headerKey']}'" if field.get("headerKey") else ""
    return field.get("name", ""), type_of_schema(field.get("schema", {})).short(), mark + header


def _count(number: int | None, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _source_details(source: Entity) -> list[Part]:
    """The parts of a DESCRIBE EXTENDED behind the columns: facts, statement, queries and their positions."""
    size = f"{_count(source.get('partitions'), 'partition')}, {_count(source.get('replication'), 'replica')}"
    topic = f"{source.get('topic')}  ({size})"
    facts = [
        ("Topic", topic),
        ("Key format", source.get("keyFormat")),
        ("Value format", source.get("valueFormat")),
        ("Logical view", source.get("logicalView")),
        ("Physical view", source.get("physicalView")),
        ("Timestamp column", source.get("timestamp")),
        ("Window", source.get("windowType")),
        ("Needed by", ", ".join(source.get("sourceConstraints") or ())),
        ("Statistics", source.get("statistics")),
        ("Errors", source.get("errorStats")),
    ]
    return [
        _facts(facts),
        *_statement(source.get("statement")),
        *_query_list("Queries that read from it", source.get("readQueries")),
        *_query_list("Queries that write to it", source.get("writeQueries")),
        *_offsets(source.get("queryOffsetSummaries") or ()),
    ]


def _query_list(title: str, queries: Iterable[Entity] | None) -> list[Part]:
    rows = [(query.get("id"), query.get("state"), _one_line(query.get("queryString", ""))) for query in queries or ()]
    return [Text(title, "title"), Grid(("Query", "State", "SQL"), rows)] if rows else []


def _offsets(summaries: Iterable[Entity]) -> list[Part]:
    """How far each query has read each partition."""
    names = ("partition", "logStartOffset", "logEndOffset", "consumerOffset")
    rows = [
        (summary.get("groupId"), topic.get("kafkaTopic"), *map(offset.get, names), _lag(offset))
        for summary in summaries
        for topic in summary.get("topicSummaries", ())
        for offset in topic.get("offsets", ())
    ]
    columns = ("Query", "Topic", "Partition", "Start", "End", "Read up to", "Lag")
    return [Text("Offsets", "title"), Grid(columns, rows, frozenset({2, 3, 4, 5, 6}))] if rows else []


def _lag(offset: Entity) -> int:
    """How many records of a partition a query has yet to read."""
    return max(0, int(offset.get("logEndOffset", 0)) - int(offset.get("consumerOffset", 0)))


def _query_description(entity: Entity) -> list[Part]:
    return _query(entity["queryDescription"])


def _query_descriptions(entity: Entity) -> list[Part]:
    descriptions = entity.get("queryDescriptions", ())
    return [part for query in descriptions for part in _query(query)] or [Text("no queries are running", "dim")]


def _query(query: Entity) -> list[Part]:
    """The parts of an EXPLAIN: what the query reads and writes, its columns, its plan, its errors."""
    facts = [
        ("State", query.get("state")),
        ("Reads", ", ".join(query.get("sources") or ())),
        ("Writes", ", ".join(query.get("sinks") or ())),
        ("Window", query.get("windowType")),
        ("Settings", ", ".join(f"{name}={value}" for name, value in (query.get("overriddenProperties") or {}).items())),
    ]
    title = f"{str(query.get('queryType', '')).title()} query {query.get('id') or ''}".strip()
    fields = [_field(field) for field in query.get("fields", ())]
    replacement = query.get("replacement")
    plan = query.get("topology") if replacement else query.get("executionPlan") or query.get("topology")
    return [
        Text(title, "title"),
        _facts(facts),
        *_statement(query.get("statementText")),
        *(_replacement(replacement) if replacement else ()),
        *([Grid(("Column", "Type", ""), fields)] if fields else ()),
        *([Text("Plan", "title"), Text(plan)] if plan else ()),
        *_query_errors(query.get("queryErrors") or ()),
    ]


def _replacement(replacement: Entity) -> list[Part]:
    """The parts for EXPLAIN CREATE OR REPLACE: what the statement would do to the running query."""
    allowed, name = replacement.get("inPlace"), replacement.get("source")
    verdict = f"{name} can be replaced in place" if allowed else f"{name} cannot be replaced in place"
    rows = [
        *(("cannot change", p["part"], f"{p['before']} → {p['after']}", p["why"]) for p in replacement["rebuilds"]),
        *(("changes", p["part"], f"{p['before']} → {p['after']}", "") for p in replacement["changes"]),
        *(("stays", p["part"], p["value"], "") for p in replacement["stays"]),
    ]
    return [
        Text(verdict, "good" if allowed else "warning"),
        *(() if allowed else (Text("WITH (REBUILD=true) rebuilds it alongside the running query", "dim"),)),
        Grid(("Effect", "Part", "Now → then", "Why"), rows),
        _facts(_replaced_state(replacement)),
        *_positions(replacement),
    ]


def _replaced_state(replacement: Entity) -> list[tuple[str, Any]]:
    state, allowed = replacement.get("state") or {}, replacement.get("inPlace")
    sizes = "" if state.get("rows") is None else f": {state['rows']:,} rows, {state['bytes']:,} bytes"
    return [
        ("Query", replacement.get("query")),
        ("State kept" if allowed else "State lost", f"{state['held']}{sizes}" if state else ""),
        ("Records to read", "" if allowed else f"{replacement['records']:,}"),
        ("Read by", ", ".join(replacement.get("readers") or ())),
    ]


def _positions(replacement: Entity) -> list[Part]:
    """A table of the offsets from which the replaced query would continue; no parts if it is not replaced in place."""
    names = ("topic", "partition", "position", "end", "lag")
    rows = [tuple(at.get(name) for name in names) for at in replacement.get("positions") or ()]
    columns = ("Topic", "Partition", "Reads on from", "End", "Lag")
    if not rows or not replacement.get("inPlace"):
        return []
    return [Text("Positions", "title"), Grid(columns, rows, frozenset({1, 2, 3, 4}))]


def _query_errors(errors: Sequence[Entity]) -> list[Part]:
    rows = [(error.get("timestamp"), error.get("type"), error.get("errorMessage")) for error in errors]
    return [Text("Errors", "title"), Grid(("Time", "Type", "Error"), rows)] if rows else []


def _plan(entity: Entity) -> list[Part]:
    return [Text(entity.get("executionPlan", ""))]


def _function(entity: Entity) -> list[Part]:
    shown: list[Part] = [Text(f"{entity.get('name')}  ({entity.get('type', '').lower()} function)", "title")]
    if entity.get("description"):
        shown.append(Text(entity["description"]))
    for variant in entity.get("functions", ()):
        shown += _variant(entity.get("name", ""), variant, entity.get("description"))
    if entity.get("confinement"):
        shown.append(Text(f"  confined by {entity['confinement']}", "dim"))
    return shown


def _variant(name: str, variant: Entity, overview: str | None) -> list[Part]:
    """A signature, and what is said about it beyond the overview of all."""
    arguments = variant.get("arguments", ())
    signature = ", ".join(_argument(argument) for argument in arguments)
    docs = [(argument["name"], argument["description"]) for argument in arguments if argument.get("description")]
    described = variant.get("description")
    return [
        Sql(f"{name}({signature}) → {variant.get('returnType', '')}"),
        *([Text(f"  {described}", "dim")] if described and described != overview else ()),
        *(Text(f"    {argument}: {doc}", "dim") for argument, doc in docs),
    ]


def _argument(argument: Entity) -> str:
    declared = f"{argument.get('name') or ''} {argument.get('type', '')}".strip()
    return declared + ("…" if argument.get("isVariadic") else "")


def _topic(entity: Entity) -> list[Part]:
    return [_facts([(name, entity.get(name)) for name in ("name", "kafkaTopic", "format", "schemaString")])]


def _terminated(entity: Entity) -> list[Part]:
    outcome, style = ("was", "good") if entity.get("wasTerminated", True) else ("was not", "warning")
    return [Text(f"query {entity.get('queryId', '')} {outcome} terminated", style)]


def _asserted(kind: str, member: str) -> Show:
    def show(entity: Entity) -> list[Part]:
        state = "exists" if entity.get("exists", True) else "does not exist"
        about = entity.get(member) or entity.get("id") or ""
        return [Text(f"{kind} {about} {state}, as asserted", "good")]

    return show


def _connectors(entity: Entity) -> list[Part]:
    columns, names = ("Connector", "Type", "Class", "State"), ("name", "type", "className", "state")
    return [_grid(columns, names, entity.get("connectors", ()), "no connectors yet")]


def _connector_plugins(entity: Entity) -> list[Part]:
    columns, names = ("Class", "Type", "Version"), ("className", "type", "version")
    return [_grid(columns, names, entity.get("connectorsPlugins", ()), "no connector plugins")]


def _created_connector(entity: Entity) -> list[Part]:
    return [Text(f"created connector {entity.get('info', {}).get('name', '')}", "good")]


def _dropped_connector(entity: Entity) -> list[Part]:
    return [Text(f"dropped connector {entity.get('connectorName', '')}", "good")]


def _connector(entity: Entity) -> list[Part]:
    status = entity.get("status", {})
    state = status.get("connector", {})
    facts = [
        ("Class", entity.get("connectorClass")),
        ("Type", status.get("type")),
        ("State", state.get("state")),
        ("Worker", state.get("worker_id")),
        ("Trace", state.get("trace")),
        ("Topics", ", ".join(entity.get("topics") or ())),
    ]
    tasks = [(task.get("id"), task.get("state"), _word(task.get("trace"))) for task in status.get("tasks") or ()]
    sources = [(source.get("name"), source.get("type"), source.get("topic")) for source in entity.get("sources") or ()]
    return [
        Text(f"Connector {status.get('name', '')}", "title"),
        _facts(facts),
        *([Grid(("Task", "State", "Trace"), tasks, frozenset({0}))] if tasks else ()),
        *([Text("Sources over its topics", "title"), Grid(("Name", "Type", "Topic"), sources)] if sources else ()),
    ]


def _grid(columns: Sequence[str], names: Sequence[str], items: Iterable[Entity], none: str) -> Part:
    rows = [tuple(_word(item.get(name)) for name in names) for item in items]
    return Grid(columns, rows) if rows else Text(none, "dim")


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    return "" if value is None else str(value)


def _facts(facts: Iterable[tuple[str, Any]]) -> Part:
    shown = [(name, str(value)) for name, value in facts if value not in (None, "", 0)]
    width = max((len(name) for name, _ in shown), default=0)
    return Text("\n".join(f"{name:{width}}  {value}" for name, value in shown))


def _statement(text: str | None) -> list[Part]:
    return [Sql(text)] if text else []


def _one_line(text: str) -> str:
    return " ".join(text.split())


SHOWN: Mapping[str, Show] = {
    "currentStatus": _status,
    "warning_entity": _warning,
    "error_entity": _warning,
    "generic_message": _message,
    "streams": _sources("streams"),
    "tables": _sources("tables"),
    "queries": _queries,
    "kafka_topics": _topics,
    "kafka_topics_extended": _topics,
    "properties": _properties,
    "function_names": _functions,
    "describe_function": _function,
    "type_list": _types,
    "variables": _variables,
    "indexes": _indexes,
    "views": _views,
    "viewDescription": _view_description,
    "sourceDescription": _source_description,
    "source_descriptions": _source_descriptions,
    "queryDescription": _query_description,
    "query_descriptions": _query_descriptions,
    "executionPlan": _plan,
    "topicDescription": _topic,
    "connector_list": _connectors,
    "connector_plugins_list": _connector_plugins,
    "connector_info": _created_connector,
    "connector_description": _connector,
    "drop_connector": _dropped_connector,
    "terminate_query": _terminated,
    "assert_topic": _asserted("topic", "topicName"),
    "assert_schema": _asserted("schema", "subject"),
}
