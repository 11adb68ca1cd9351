"""The engine's access to the schema registry: look up schemas for planning, register and delete them."""

import logging
from collections.abc import Mapping, Sequence

from millstream.analysis.targets import Target
from millstream.catalog.schemas import PhysicalSchema, RegisteredSchema, subject
from millstream.formats import protofile
from millstream.formats.client import Access, Registry, RegistryFailed, access
from millstream.model.errors import StatementError
from millstream.plan.steps import DeleteSubjects, RegisterSchema, Step
from millstream.syntax import tree

log = logging.getLogger(__name__)
URL = "ksql.schema.registry.url"
UNCONFIGURED = f"KSQL is not configured to use a schema registry. To enable it, please set {URL}"
HINT = "AVRO, JSON_SR and PROTOBUF keep their schemas in a registry; JSON, DELIMITED, KAFKA and PROTOBUF_NOSR need none"
MUTABLE = (
    "the schema registry does not make %s READONLY: others can change the schemas of keys, and so "
    "their bytes. Confluent's allows it with mode.mutability=true: "
    "https://docs.confluent.io/platform/current/schema-registry/installation/config.html#mode-mutability"
)


class NoRegistry(StatementError):
    """A statement needs a schema registry, but none is configured."""


class RegistryAccess:
    """The engine's registry; if none is configured, formats with schemas are refused."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._access = access(settings)
        self._registry = Registry(self._access) if self._access else None
        self._warned = False

    @property
    def access(self) -> Access | None:
        """How to reach the registry; None if none is configured."""
        return self._access

    def close(self) -> None:
        """Close the connections to the registry."""
        if self._registry:
            self._registry.close()

    def look_up(self, target: Target) -> tuple[dict[str, RegisteredSchema], dict[int, RegisteredSchema]]:
        """The latest schemas of a statement's subjects, and the schemas of the ids that it names.

        Raises StatementError with the registry's message if it fails, NoRegistry if none is configured.
        """
        if not target.subjects and not target.schema_ids:
            return {}, {}
        if self._registry is None:
            raise _unconfigured(target)
        try:
            latest = {name: self._needed.latest(name) for name in target.subjects}
            by_id = {id: self._needed.by_id(id) for id in target.schema_ids}
        except RegistryFailed as failure:
            raise StatementError(str(failure), target.statement.span, failure.hint) from failure
        return {n: s for n, s in latest.items() if s}, {n: s for n, s in by_id.items() if s}

    def check(self, steps: Sequence[Step]) -> None:
        """Register the schemas of the steps; only the registry knows whether they are compatible. Raises
        StatementError."""
        for step in steps:
            if isinstance(step, RegisterSchema):
                self._register(step)

    def forget(self, steps: Sequence[Step]) -> None:
        """Delete the subjects that the steps name. Raises StatementError."""
        for step in steps:
            for name in step.names if isinstance(step, DeleteSubjects) else ():
                try:
                    self._needed.delete(name)
                except RegistryFailed as failure:
                    fact = f"the topic was deleted, but not its schemas: {failure}"
                    raise StatementError(fact, None, failure.hint) from failure

    def has(self, subject: str | None, id: int | None, seconds: float) -> bool:
        """True if there is a schema of that id, a subject of that name or, if both are given, that id under the
        subject.

        Raises RegistryFailed, also if the registry does not answer in `seconds`; NoRegistry.
        """
        registry = self._needed.within(seconds)
        if id is None:
            return subject is not None and registry.latest(subject) is not None
        return registry.by_id(id) is not None and (subject is None or subject in registry.subjects(id))

    def schema(self, id: int) -> RegisteredSchema | None:
        """The schema of an id; None if there is none, or no registry is configured. Raises RegistryFailed."""
        return self._registry.by_id(id) if self._registry else None

    def _register(self, step: RegisterSchema) -> None:
        physical = step.physical
        try:
            id = self._register_or_find(physical)
        except RegistryFailed as failure:
            fact = f"Could not register schema for {physical.subject}: {failure}"
            raise StatementError(fact, None, failure.hint) from failure
        if physical.id not in (None, id):
            raise StatementError(
                f"Schema id registered is {id} which is different from provided schema id {physical.id}. "
                f"Subject: {physical.subject}",
                hint=f"the registry has this schema under the id {id}, too: name that one",
            )
        if physical.subject.endswith(subject("", "KEY")):
            self._freeze(physical.subject)

    def _register_or_find(self, physical: PhysicalSchema) -> int:
        """The id of a schema that is registered, or of the subject's latest if that has the same fields, in messages of
        names that must stay."""
        try:
            return self._needed.register(physical.subject, physical.schema)
        except RegistryFailed as failure:
            # One that does not answer has no status; records carry the given id.
            is_other_allowed = failure.status and physical.id is None
            latest = self._needed.latest(physical.subject) if is_other_allowed else None
            if latest is None or not protofile.are_alike(latest.schema, physical.schema):
                raise
            return latest.id

    def _freeze(self, name: str) -> None:
        """Make a key's subject READONLY: with another schema its id, its records' bytes and partitions would change
        (KLIP-33)."""
        if not self._needed.freeze(name) and not self._warned:
            self._warned = True
            log.warning(MUTABLE, name)

    @property
    def _needed(self) -> Registry:
        if self._registry is None:
            raise NoRegistry(UNCONFIGURED, hint=HINT)
        return self._registry


def _unconfigured(target: Target) -> NoRegistry:
    """ksqlDB's messages: one for a statement that would write a schema, another for one that would read one."""
    statement, p = target.statement, target.properties
    if isinstance(statement, tree.CreateSource) and not statement.columns:
        return NoRegistry(UNCONFIGURED, statement.span, HINT)
    format = p.text("VALUE_FORMAT") or p.text("FORMAT") or p.text("KEY_FORMAT")
    with_format = f" with format {format.upper()}" if format else ""
    return NoRegistry(
        f"Cannot create topic '{target.topic}'{with_format} without configuring '{URL}'", statement.span, HINT
    )
