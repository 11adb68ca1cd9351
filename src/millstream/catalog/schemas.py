"""Schemas as in a registry, and the schema that a side of a topic is written with."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SchemaText:
    """A schema: its kind in the registry's terms (AVRO, JSON, PROTOBUF), its text, and the schemas it refers to, by
    name."""

    kind: str
    text: str
    references: tuple["Reference", ...] = ()


@dataclass(frozen=True, slots=True)
class Reference:
    """A schema that another one refers to by `name`; in the registry it is a version of a subject."""

    name: str
    subject: str
    version: int
    schema: SchemaText


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema and its id in the registry."""

    id: int
    schema: SchemaText


@dataclass(frozen=True, slots=True)
class PhysicalSchema:
    """The schema that a side of a source's records is written with.

    `registry` is the address of its registry, "" for the server's own; `subject` its subject there. `message` is the
    name of the Protobuf message to use, "" for the first. `id` is set if the user chose it; else the registry assigns
    it. `existing` is the schema that the subject had already, if the columns fit it: clients' rows are written by it.
    """

    registry: str
    subject: str
    schema: SchemaText
    message: str = ""
    id: int | None = None
    existing: RegisteredSchema | None = None


def subject(topic: str, side: str) -> str:
    """The subject for the schemas of one side ("KEY" or "VALUE") of a topic."""
    return f"{topic}-{side.lower()}"
