"""The processing log as a stream of the language, so that it can be queried (docs/operations.md#the-processing-log)."""

from collections.abc import Mapping

from millstream.engine.api import Request
from millstream.engine.context import EngineContext
from millstream.engine.execute import execute
from millstream.model.names import identifier, literal
from millstream.model.settings import is_on

AUTO_CREATE = "ksql.logging.processing.stream.auto.create"
_PLACE = "`partition` INT, `offset` BIGINT"
_CODEC = f"target STRING, `topic` STRING, errorMessage STRING, cause ARRAY<STRING>, {_PLACE}"
_MESSAGE = f"""
    type INT,
    deserializationError STRUCT<{_CODEC}, recordB64 STRING>,
    recordProcessingError STRUCT<errorMessage STRING, record STRING, cause ARRAY<STRING>, {_PLACE}>,
    productionError STRUCT<errorMessage STRING>,
    serializationError STRUCT<{_CODEC}, record STRING>,
    kafkaStreamsThreadError STRUCT<errorMessage STRING, threadName STRING, cause ARRAY<STRING>>
"""


def stream_name(settings: Mapping[str, str]) -> str:
    """The name of the stream, from a server's settings."""
    return settings["ksql.logging.processing.stream.name"].upper()


def statement(topic: str, name: str) -> str:
    """The statement that declares the log in `topic` as the stream `name`."""
    columns = f"logger STRING, level STRING, time BIGINT, message STRUCT<{_MESSAGE}>"
    properties = f"kafka_topic={literal(topic)}, value_format='JSON'"
    return f"CREATE STREAM IF NOT EXISTS {identifier(name)} ({columns}) WITH ({properties});"


def declare(engine: EngineContext) -> None:
    """Declare the stream over the log if the server's settings ask for it. Raises RequestFailed."""
    if is_on(engine.server, AUTO_CREATE):
        execute(Request(statement(engine.log_topic, stream_name(engine.server))), engine)
