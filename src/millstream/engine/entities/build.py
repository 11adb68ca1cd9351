"""What every entity has in common, and the small entities."""

from collections.abc import Iterable
from typing import Any

from millstream.engine.api import Entity
from millstream.engine.state import CommandStatus


def entity(type: str, text: str, /, **body: Any) -> Entity:
    """An entity of `type` for the statement `text`."""
    return {"@type": type, "statementText": text, **body, "warnings": []}


def warned(answer: Entity, messages: Iterable[str]) -> Entity:
    """A copy of an entity with these messages as its warnings."""
    return {**answer, "warnings": [{"message": message} for message in messages]}


def current_status(text: str, path: str, status: CommandStatus, sequence: int) -> Entity:
    """A catalog statement's answer: the status of its command, number `sequence`."""
    return entity(
        "currentStatus",
        text,
        commandId=path,
        commandStatus=status_body(status),
        commandSequenceNumber=sequence,
    )


def status_body(status: CommandStatus) -> Entity:
    """The status of a command as JSON: state, message, and the id of the query that it started, if any."""
    return {"status": status.state, "message": status.message, "queryId": status.query_id}


def warning(text: str, message: str) -> Entity:
    """The message of a statement that had no effect, or whose answer is only a message."""
    return entity("warning_entity", text, message=message)
