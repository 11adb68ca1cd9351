"""A client of Kafka Connect's REST API: create, list, describe and delete connectors."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import javaproperties

from millstream.client.errors import network_reason
from millstream.formats import tls
from millstream.model.secrets import without_user
from millstream.model.settings import is_on
from millstream.services.errors import SetupError

PREFIX = "ksql.connect."
URL = f"{PREFIX}url"
TIMEOUT = "ksql.connect.request.timeout.ms"
CREDENTIALS_SOURCE = "ksql.connect.basic.auth.credentials.source"
CREDENTIALS_FILE = "ksql.connect.basic.auth.credentials.file"
CREDENTIALS_RELOAD = "ksql.connect.basic.auth.credentials.reload"
HOW_TO_GET_ONE = f"`millstream dev --connect` starts one; for another, set {URL} to its REST API"
NOT_CONNECT = "but not as Kafka Connect does"
NOT_YET = f"a worker that starts answers so for some seconds; else see that {URL} is its address"
REBALANCE_PAUSE = 0.25
EXISTS = "already exists"
# The statuses by which Connect, or a proxy before it, refuses the server's login.
LOGIN_REFUSED = frozenset({401, 403, 407})


class ConnectFailed(Exception):
    """Connect is away, or refuses: `fact` has its own message, `status` its HTTP status (0: none)."""

    def __init__(self, fact: str, status: int = 0, hint: str = "") -> None:
        self.fact, self.status, self.hint = fact, status, hint
        super().__init__(fact)


@dataclass(frozen=True, slots=True)
class ConnectAccess:
    """A worker's address, and `seconds` for a request.

    `tls` are the settings of TLS without their prefix, `credentials` is the file with the login, None if there is no
    login, `reload` whether it is read for each request.
    """

    url: str
    seconds: float
    tls: Mapping[str, str] = field(default_factory=dict)
    credentials: Path | None = None
    reload: bool = False

    @property
    def shown(self) -> str:
        """The address without a password."""
        return without_user(self.url)

    def client(self, transport: httpx.BaseTransport | None = None) -> httpx.Client:
        """An HTTP client for it. Raises SetupError if the address, or a file for TLS, is not valid."""
        try:
            return httpx.Client(
                base_url=self.url.rstrip("/"),
                verify=tls.context(self.tls, "Kafka Connect"),
                timeout=self.seconds,
                transport=transport,
            )
        except httpx.InvalidURL as error:
            raise SetupError(f"{URL} is not a URL: {error}", "it is written http://HOST:8083") from error

    def login(self) -> httpx.BasicAuth | None:
        """Name and password from the credentials file; None if there is none. Raises ConnectFailed."""
        if self.credentials is None:
            return None
        place, hint = self.credentials, f"{CREDENTIALS_FILE} names a file of username=… and password=…"
        try:
            credentials = javaproperties.loads(place.read_text(encoding="utf-8"))
            return httpx.BasicAuth(credentials["username"], credentials["password"])
        except OSError as error:
            raise ConnectFailed(
                f"cannot read the login for Kafka Connect, {place}: {error.strerror}", 0, hint
            ) from error
        except (KeyError, ValueError) as error:
            raise ConnectFailed(f"{place} has no username and password for Kafka Connect", 0, hint) from error


def connect_access(settings: Mapping[str, str]) -> ConnectAccess | None:
    """The access to Connect in a server's settings; None if its address is empty."""
    if not settings[URL]:
        return None
    from_file = settings[CREDENTIALS_SOURCE] == "FILE"
    return ConnectAccess(
        settings[URL],
        int(settings[TIMEOUT]) / 1000,
        {name.removeprefix(PREFIX): value for name, value in settings.items() if name.startswith(PREFIX)},
        Path(settings[CREDENTIALS_FILE]) if from_file else None,
        is_on(settings, CREDENTIALS_RELOAD),
    )


class ConnectClient:
    """A client of one worker; thread-safe. Every method raises ConnectFailed."""

    def __init__(self, access: ConnectAccess, transport: httpx.BaseTransport | None = None) -> None:
        """`transport`: see httpx. Raises SetupError if the address is not valid."""
        self._access, self._client = access, access.client(transport)
        self._login: httpx.BasicAuth | None = None

    def close(self) -> None:
        """Close the connections to the worker."""
        self._client.close()

    def version(self) -> str:
        """The worker's version."""
        answer = self._request("GET", "/")
        if not isinstance(answer, dict) or "version" not in answer:
            raise ConnectFailed(f"{self._access.shown} answered, {NOT_CONNECT}", 0, NOT_YET)
        return str(answer["version"])

    def names(self) -> list[str]:
        """The names of all connectors."""
        return list(self._request("GET", "/connectors"))

    def connectors(self) -> dict[str, dict[str, Any]]:
        """The `info` and the `status` of each connector, by name."""
        return dict(self._request("GET", "/connectors?expand=info&expand=status"))

    def status(self, name: str) -> dict[str, Any]:
        """The states of a connector and its tasks."""
        return dict(self._request("GET", f"{_path(name)}/status"))

    def info(self, name: str) -> dict[str, Any]:
        """A connector's configuration, tasks and type."""
        return dict(self._request("GET", _path(name)))

    def topics(self, name: str) -> list[str]:
        """The topics that a connector has used."""
        return list(self._request("GET", f"{_path(name)}/topics").get(name, {}).get("topics", ()))

    def plugins(self) -> list[dict[str, Any]]:
        """The connector plugins: class, type, version."""
        return list(self._request("GET", "/connector-plugins"))

    def validate(self, plugin: str, config: Mapping[str, str]) -> list[tuple[str, list[str]]]:
        """The properties of a configuration that are not valid, each with its errors."""
        answer = self._request("PUT", f"/connector-plugins/{quote(plugin, safe='')}/config/validate", dict(config))
        values = (checked["value"] for checked in answer["configs"])
        return [(value["name"], value["errors"]) for value in values if value["errors"]]

    def create(self, name: str, config: Mapping[str, str]) -> dict[str, Any]:
        """Create a connector; returns its info."""
        return dict(self._request("POST", "/connectors", {"name": name, "config": dict(config)}))

    def delete(self, name: str) -> None:
        """Delete a connector. Raises ConnectFailed with status 404 if it does not exist."""
        self._request("DELETE", _path(name))

    def _request(self, verb: str, path: str, body: object = None) -> Any:
        """The answer to a request; while the workers share out their connectors anew, which is answered 409, it is
        repeated."""
        deadline = time.monotonic() + self._access.seconds
        while True:
            answer = self._answer(verb, path, body)
            rebalances = answer.status_code == httpx.codes.CONFLICT and EXISTS not in answer.text
            if not rebalances or time.monotonic() > deadline:
                return _content(answer)
            time.sleep(REBALANCE_PAUSE)

    def _answer(self, verb: str, path: str, body: object) -> httpx.Response:
        if self._login is None or self._access.reload:
            self._login = self._access.login()
        auth = self._login or httpx.USE_CLIENT_DEFAULT
        try:
            return self._client.request(verb, path, json=body, auth=auth)
        except httpx.TransportError as error:
            fact = f"Kafka Connect at {self._access.shown} does not answer: {network_reason(error)}"
            raise ConnectFailed(fact, 0, HOW_TO_GET_ONE) from error


def _path(name: str) -> str:
    return f"/connectors/{quote(name, safe='')}"


def _content(answer: httpx.Response) -> Any:
    """The JSON of an answer; None if it is empty. Raises ConnectFailed if it is an error, or no JSON."""
    try:
        content = answer.json() if answer.content else None
    except ValueError:
        content = answer.text
    if answer.is_success and not isinstance(content, str):
        return content
    if isinstance(content, dict) and "message" in content:
        raise ConnectFailed(f"Kafka Connect answered {answer.status_code}: {content['message']}", answer.status_code)
    fact = f"{without_user(str(answer.url))} answered {answer.status_code} {answer.reason_phrase}, {NOT_CONNECT}"
    raise ConnectFailed(fact, answer.status_code if answer.status_code in LOGIN_REFUSED else 0, NOT_YET)
