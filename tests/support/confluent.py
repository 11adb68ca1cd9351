"""Confluent's own serializers and deserializers, as judges of what the engine writes and reads."""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import json_format
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from millstream.catalog.schemas import SchemaText
from millstream.formats import protofile

SIDES = {"key": MessageField.KEY, "value": MessageField.VALUE}
KINDS = {"AVRO": "AVRO", "JSON_SR": "JSON", "PROTOBUF": "PROTOBUF"}
_MODERN = {"use.deprecated.format": False}


class DescriptorClient(SchemaRegistryClient):
    """A client that gets the descriptor of a .proto text from any registry: only Confluent's returns it on request."""

    def get_schema(
        self, schema_id: int, subject_name: str | None = None, fmt: str | None = None, **rest: Any
    ) -> Schema:
        """As SchemaRegistryClient.get_schema."""
        schema: Schema = super().get_schema(schema_id, subject_name, fmt, **rest)
        if fmt != "serialized" or "syntax" not in str(schema.schema_str):
            return schema
        described = message_class(str(schema.schema_str)).DESCRIPTOR.file.serialized_pb
        return Schema(b64encode(described).decode(), "PROTOBUF", schema.references)

    def latest(self, subject: str) -> str:
        """The text of a subject's newest schema."""
        return str(self.get_latest_version(subject).schema.schema_str)

    def register_text(self, subject: str, format: str, text: str, *references: SchemaReference) -> int:
        """The id of a schema, registered under the subject."""
        return int(self.register_schema(subject, Schema(text, KINDS[format], list(references))))


def message_class(text: str, message: str = "") -> type[Message]:
    """Google's class of a .proto text's first message, or of the one of that name."""
    descriptor = protofile.message(SchemaText("PROTOBUF", text), message)
    assert descriptor is not None
    return GetMessageClass(descriptor)


@dataclass(frozen=True)
class ConfluentSerde:
    """How Confluent's libraries write and read one side ("key" or "value") of a topic in a format."""

    client: DescriptorClient
    format: str
    topic: str
    side: str = "value"

    @property
    def _at(self) -> SerializationContext:
        return SerializationContext(self.topic, SIDES[self.side])

    def write(self, data: Any, schema: str | Schema) -> bytes:
        """The bytes of data by a schema, or its text; Protobuf takes text, and data in its JSON form."""
        encoded = self._writer(schema)(data, self._at)
        assert isinstance(encoded, bytes)
        return encoded

    def read(self, data: bytes | None) -> Any:
        """What the bytes are, by the schema that they name; a Protobuf message as its JSON form."""
        assert data is not None
        if self.format == "AVRO":
            return AvroDeserializer(self.client)(data, self._at)
        if self.format == "JSON_SR":
            return JSONDeserializer(None, schema_registry_client=self.client)(data, self._at)
        message_type = message_class(self.client.latest(f"{self.topic}-{self.side}"))
        message = ProtobufDeserializer(message_type, _MODERN, self.client)(data, self._at)
        return json_format.MessageToDict(message, preserving_proto_field_name=True)

    def _writer(self, schema: str | Schema) -> Callable[[Any, Any], bytes | None]:
        if self.format == "AVRO":
            return AvroSerializer(self.client, schema)
        if self.format == "JSON_SR":
            return JSONSerializer(schema, self.client)
        message_type = message_class(str(schema))
        write = ProtobufSerializer(message_type, self.client, _MODERN)
        return lambda data, at: write(json_format.ParseDict(data, message_type()), at)
