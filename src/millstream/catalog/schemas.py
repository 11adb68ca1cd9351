"""Schemas as a registry holds them, and the one that a side of a topic is written with."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SchemaText:
    """A schema: its kind in the registry's words (AVRO, JSON, PROTOBUF), its text, and what it refers to by name."""

    kind: str
    text: str
    references: tuple["Reference", ...] = ()


@dataclass(frozen=True, slots=True)
class Reference:
    """A schema that another refers to: by `name`; the registry knows it as a version of a subject."""

    name: str
    subject: str
    version: int
    schema: SchemaText


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema and the id that the registry gave it."""

    id: int
    schema: SchemaText


@dataclass(frozen=True, slots=True)
class PhysicalSchema:
    """The schema that a side of a source's records is written with.

    `registry` is where it is known, "" for the server's own; `subject` under what. `message` names the message of a
    Protobuf file that is used, "" for the first. `id` is given where the user chose it, else the registry gives it.
    """

    registry: str
    subject: str
    schema: SchemaText
    message: str = ""
    id: int | None = None


def subject(topic: str, side: str) -> str:
    """What the schemas of one side ("KEY" or "VALUE") of a topic are registered under."""
    return f"{topic}-{side.lower()}"
