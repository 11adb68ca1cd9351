"""What every entity has, and the small ones."""

from typing import Any

from millstream.engine.api import Entity
from millstream.engine.state import CommandStatus


def entity(type: str, text: str, /, **body: Any) -> Entity:
    """An entity of `type` for the statement `text`."""
    return {"@type": type, "statementText": text, **body, "warnings": []}


def current_status(text: str, path: str, status: CommandStatus, sequence: int) -> Entity:
    """A catalog statement's answer: how its command, number `sequence`, went."""
    return entity(
        "currentStatus",
        text,
        commandId=path,
        commandStatus=status_body(status),
        commandSequenceNumber=sequence,
    )


def status_body(status: CommandStatus) -> Entity:
    """A status as /status gives it."""
    return {"status": status.state, "message": status.message, "queryId": status.query_id}


def warning(text: str, message: str) -> Entity:
    """The message of a statement that had nothing to do, or whose answer is a message."""
    return entity("warning_entity", text, message=message)
