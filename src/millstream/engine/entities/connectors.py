"""The answers of statements about connectors, from the answers of Kafka Connect (docs/connectors.md)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from millstream.catalog.catalog import Catalog, Source
from millstream.engine.api import Entity
from millstream.engine.entities.build import entity
from millstream.engine.entities.describe import source_body
from millstream.model.secrets import shown, without_user
from millstream.syntax.tree import ConnectorKind

RUNNING = "RUNNING"
# A connector that no worker has started yet.
UNASSIGNED = {"state": "UNASSIGNED", "worker_id": ""}


def created(text: str, info: Mapping[str, Any], kind: ConnectorKind) -> Entity:
    """CREATE CONNECTOR; the secrets of the configuration are hidden. Connect does not know the statement's kind: if the
    class is of the other one, the answer has a warning."""
    config = {name: shown(name, value) for name, value in info["config"].items()}
    body = entity("connector_info", text, info={**info, "config": config})
    actual = str(info.get("type") or "").upper()
    if actual in ConnectorKind.__members__ and actual != kind.value:
        body["warnings"] = _warnings(f"{info['name']} is a {actual} connector, and was created as a {kind.value}")
    return body


def dropped(text: str, name: str) -> Entity:
    """The answer to DROP CONNECTOR."""
    return entity("drop_connector", text, connectorName=name)


def listing(text: str, connectors: Mapping[str, Mapping[str, Any]], kind: str | None) -> Entity:
    """SHOW CONNECTORS; of one `kind`, source or sink, unless it is None."""
    parts = ((name, c.get("info") or {}, c.get("status") or {}) for name, c in sorted(connectors.items()))
    bodies = [_listed(name, info, status) for name, info, status in parts]
    return entity("connector_list", text, connectors=[b for b in bodies if kind in (None, b["type"])])


def _listed(name: str, info: Mapping[str, Any], status: Mapping[str, Any]) -> dict[str, Any]:
    kind = info.get("type") or status.get("type") or "unknown"
    return {
        "name": name,
        "type": kind,
        "className": info.get("config", {}).get("connector.class"),
        "state": _state(status),
    }


def _state(status: Mapping[str, Any]) -> str:
    """A connector's state in ksqlDB's words: `RUNNING (1/2 tasks RUNNING)`; WARNING if its tasks do not run."""
    state = str(status.get("connector", UNASSIGNED)["state"])
    if state != RUNNING:
        return state
    tasks = status.get("tasks") or ()
    running = sum(task["state"] == RUNNING for task in tasks)
    return f"{'WARNING' if tasks and not running else RUNNING} ({running}/{len(tasks)} tasks RUNNING)"


def description(
    text: str,
    info: Mapping[str, Any],
    status: Mapping[str, Any],
    topics: Sequence[str],
    sources: Iterable[Source],
    catalog: Catalog,
    warning: str = "",
) -> Entity:
    """DESCRIBE CONNECTOR: its state and its tasks with their traces, its topics, and the sources over them."""
    body = entity(
        "connector_description",
        text,
        connectorClass=info["config"].get("connector.class", ""),
        status={
            **status,
            "connector": _without_secrets(status["connector"]),
            "tasks": [_without_secrets(task) for task in status["tasks"]],
        },
        sources=[source_body(source, catalog, extended=False) for source in sources],
        topics=sorted(topics),
    )
    body["warnings"] = _warnings(warning) if warning else []
    return body


def _without_secrets(state: Mapping[str, Any]) -> dict[str, Any]:
    """A state whose trace shows no password of an address."""
    return {**state, "trace": without_user(state["trace"])} if state.get("trace") else dict(state)


def plugins(text: str, listed: Sequence[Mapping[str, Any]]) -> Entity:
    """The answer to SHOW CONNECTOR PLUGINS; `listed` is Connect's own list."""
    bodies = [{"className": p["class"], "type": p.get("type"), "version": p.get("version")} for p in listed]
    return entity("connector_plugins_list", text, connectorsPlugins=bodies)


def _warnings(message: str) -> list[dict[str, str]]:
    return [{"message": message}]
