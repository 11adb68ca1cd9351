"""A schema registry with Confluent's API: register, look up, delete."""

import time
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from millstream.catalog.schemas import Reference, RegisteredSchema, SchemaText
from millstream.formats import tls
from millstream.formats.json_answers import OTHER_FORM, text_in
from millstream.model.secrets import without_user
from millstream.services.errors import SetupError

T = TypeVar("T")
MEDIA = "application/vnd.schemaregistry.v1+json"
PREFIX = "ksql.schema.registry."
# How many seconds an answer is waited for, and the least in which a server can answer.
PATIENCE, LEAST = 10.0, 0.1
AWAY = f"see whether it runs and can be reached at {PREFIX}url"


_DRAFT = "http://json-schema.org/draft-07/schema#"


class RegistryFailed(Exception):
    """The registry is away, or refuses with an HTTP status; the text has its own message, `hint` what to do."""

    def __init__(self, text: str, status: int = 0, hint: str = "") -> None:
        super().__init__(text)
        self.status, self.hint = status, hint


@dataclass(frozen=True, slots=True)
class Access:
    """A registry's address, or those of its servers with commas between them, and the credentials, by Confluent's
    settings."""

    url: str
    settings: Mapping[str, str]

    @property
    def urls(self) -> tuple[str, ...]:
        """The addresses of its servers, without a slash at the end."""
        return tuple(url.strip().rstrip("/") for url in self.url.split(",") if url.strip())

    def client(self, transport: httpx.BaseTransport | None = None) -> httpx.Client:
        """An HTTP client for its servers. `transport`: see httpx. Raises SetupError if an address, or a file for TLS,
        is not valid."""
        user = self.settings.get("basic.auth.user.info") or ""
        name, _, password = user.partition(":")
        auth = httpx.BasicAuth(name, password) if user else None
        try:
            for url in self.urls:
                httpx.URL(url)
        except httpx.InvalidURL as error:
            raise SetupError(f"{PREFIX}url is not a URL: {error}", "it is written http://HOST:8081") from error
        return httpx.Client(
            auth=auth,
            verify=tls.context(self.settings),
            timeout=PATIENCE,
            transport=transport,
            headers={"Content-Type": MEDIA},
        )


def access(settings: Mapping[str, str]) -> Access | None:
    """The access to the registry in the server's settings; None if there is none."""
    url = settings.get(f"{PREFIX}url") or ""
    rest = {n.removeprefix(PREFIX): v for n, v in settings.items() if n.startswith(PREFIX) and v}
    place = Access(url, rest)
    return place if place.urls else None


class Registry:
    """A client of one registry; thread-safe. Of several servers it asks one until that does not answer, then the next,
    as Confluent's client does."""

    def __init__(self, access: Access, transport: httpx.BaseTransport | None = None) -> None:
        """`transport` replaces the network in tests (httpx.BaseTransport); None for the network."""
        self._access, self._servers = access, access.urls
        self._client = access.client(transport)
        self._deadline: float | None = None

    def within(self, seconds: float) -> "Registry":
        """The same client, for requests that take at most `seconds`, all of them together."""
        limited = copy(self)
        limited._deadline = time.monotonic() + seconds
        return limited

    def latest(self, subject: str) -> RegisteredSchema | None:
        """The newest schema of a subject; None if it has none. Raises RegistryFailed."""
        return self._version(subject, "latest")

    def by_id(self, id: int) -> RegisteredSchema | None:
        """The schema of an id; None if there is none. Raises RegistryFailed."""
        return self._request("GET", f"/schemas/ids/{id}", lambda answer: RegisteredSchema(id, self._schema(answer)))

    def subjects(self, id: int) -> frozenset[str]:
        """The subjects that have the schema of an id. Raises RegistryFailed."""
        path = f"/schemas/ids/{id}/versions"
        return self._request("GET", path, lambda answer: frozenset(v["subject"] for v in answer)) or frozenset()

    def register(self, subject: str, schema: SchemaText) -> int:
        """The id of the schema under the subject; the schema is registered if it is not yet. Raises RegistryFailed."""
        body: dict[str, Any] = {"schema": schema.text}
        if schema.kind != "AVRO":
            body["schemaType"] = schema.kind
        if schema.references:
            body["references"] = [
                {"name": r.name, "subject": r.subject, "version": r.version} for r in schema.references
            ]
        id = self._registered(f"/subjects/{quote(subject, safe='')}/versions", body)
        if id is None:
            raise RegistryFailed(f"{without_user(self._access.url)} has no subjects: is it a schema registry?")
        return id

    def _registered(self, path: str, body: dict[str, Any]) -> int | None:
        """The id of the schema in `body` after a POST to `path`. Raises RegistryFailed.

        Apicurio does not recognize a JSON schema of anything but an object unless it has `$schema`: if such a schema is
        refused as not processable, it is sent again with it.
        """
        text = body["schema"].lstrip()
        marked = f'{{"$schema": "{_DRAFT}", {text[1:]}'
        if body.get("schemaType") != "JSON" or '"$schema"' in text or not text.startswith("{"):
            return self._request("POST", path, _id, body)
        try:
            return self._request("POST", path, _id, body)
        except RegistryFailed as failure:
            if failure.status != httpx.codes.UNPROCESSABLE_ENTITY:
                raise
            return self._request("POST", path, _id, {**body, "schema": marked})

    def freeze(self, subject: str) -> bool:
        """Refuse other schemas under the subject from now on; False if the registry does not support that."""
        return self._mode(subject, "READONLY")

    def delete(self, subject: str) -> None:
        """Delete all schemas of a subject, if there are any, frozen or not. Raises RegistryFailed."""
        path = f"/subjects/{quote(subject, safe='')}"
        try:
            self._request("DELETE", path, _no_result)
        except RegistryFailed as failure:
            if failure.status != httpx.codes.UNPROCESSABLE_ENTITY or not self._mode(subject, "READWRITE"):
                raise
            self._request("DELETE", path, _no_result)

    def _mode(self, subject: str, mode: str) -> bool:
        try:
            path = f"/mode/{quote(subject, safe='')}"
            return self._request("PUT", path, lambda answer: str(answer["mode"]), {"mode": mode}) == mode
        except RegistryFailed:
            return False

    def close(self) -> None:
        """Close the connections to the registry."""
        self._client.close()

    def _version(self, subject: str, version: str | int) -> RegisteredSchema | None:
        path = f"/subjects/{quote(subject, safe='')}/versions/{version}"
        return self._request("GET", path, lambda answer: RegisteredSchema(_id(answer), self._schema(answer)))

    def _schema(self, answer: Mapping[str, Any]) -> SchemaText:
        references = tuple(self._reference(r) for r in answer.get("references") or ())
        return SchemaText(text_in(answer.get("schemaType") or "AVRO"), text_in(answer["schema"]), references)

    def _reference(self, reference: Mapping[str, Any]) -> Reference:
        registered = self._version(reference["subject"], reference["version"])
        if registered is None:
            raise RegistryFailed(f"the registry has no version {reference['version']} of {reference['subject']}")
        return Reference(reference["name"], reference["subject"], int(reference["version"]), registered.schema)

    def _request(self, verb: str, path: str, read: Callable[[Any], T], body: object = None) -> T | None:
        """The response's JSON, converted by `read`; None for a registry's 404 and for an empty response.

        Raises RegistryFailed, also for JSON that `read` cannot convert.
        """
        answer = self._answer(verb, path, body)
        if answer.status_code == httpx.codes.NO_CONTENT or _is_not_found(answer):
            return None
        if not answer.is_success:
            raise RegistryFailed(
                f"the schema registry answered {answer.status_code}: {_message(answer)}", answer.status_code
            )
        try:
            return read(answer.json())
        except OTHER_FORM as error:
            place = without_user(self._servers[0])
            fact = f"{place} answered {verb} {path} with something else: is it a schema registry?"
            raise RegistryFailed(fact) from error

    def _answer(self, verb: str, path: str, body: object) -> httpx.Response:
        """The answer of the first server that gives one, which is asked first from then on. Raises RegistryFailed."""
        servers, failure = self._servers, Exception()
        for number, server in enumerate(servers):
            try:
                answer = self._whole(verb, server + path, body)
            # UnicodeError: Python's for a host's name with an empty label, or one that is too long.
            except (httpx.RequestError, UnicodeError) as error:
                failure = error
            else:
                if number:
                    self._servers = (*servers[number:], *servers[:number])
                return answer
        reason = str(failure) or type(failure).__name__
        raise RegistryFailed(
            f"the schema registry {without_user(self._access.url)} does not answer: {reason}", hint=AWAY
        ) from failure

    def _whole(self, verb: str, url: str, body: object) -> httpx.Response:
        """The whole answer in time: httpx's own timeout begins anew with each byte. Raises httpx.RequestError."""
        seconds, parts = self._seconds(), list[bytes]()
        deadline = time.monotonic() + seconds
        with self._client.stream(verb, url, json=body, timeout=seconds) as answer:
            for part in answer.iter_bytes():
                parts.append(part)
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout(f"no whole answer within {seconds:.1f} s")
        return httpx.Response(answer.status_code, content=b"".join(parts))

    def _seconds(self) -> float:
        """How long the next answer is waited for."""
        return PATIENCE if self._deadline is None else max(self._deadline - time.monotonic(), LEAST)


def _id(answer: Any) -> int:
    return int(answer["id"])


def _no_result(answer: Any) -> None:
    """The result of a request whose response has only a status."""


def _is_not_found(answer: httpx.Response) -> bool:
    """True for a registry's 404, whose body has an error code or (Apicurio's) is empty.

    A 404 with another body comes from a proxy that finds no registry.
    """
    if answer.status_code != httpx.codes.NOT_FOUND:
        return False
    try:
        return not answer.content or "error_code" in answer.json()
    except OTHER_FORM:
        return False


def _message(answer: httpx.Response) -> str:
    try:
        return str(answer.json().get("message") or answer.text[:300])
    except OTHER_FORM:
        return answer.text[:300]
