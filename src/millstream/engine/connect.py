"""A client of Kafka Connect's REST API: create, list, describe and delete connectors."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
import javaproperties

from millstream.client.errors import network_reason
from millstream.formats import tls
from millstream.formats.json_answers import OTHER_FORM, text_in
from millstream.model.secrets import without_user
from millstream.model.settings import is_on
from millstream.services.errors import SetupError

T = TypeVar("T")
PREFIX = "ksql.connect."
URL = f"{PREFIX}url"
TIMEOUT = "ksql.connect.request.timeout.ms"
CREDENTIALS_SOURCE = "ksql.connect.basic.auth.credentials.source"
CREDENTIALS_FILE = "ksql.connect.basic.auth.credentials.file"
CREDENTIALS_RELOAD = "ksql.connect.basic.auth.credentials.reload"
HOW_TO_GET_ONE = f"`millstream dev --connect` starts one; for another, set {URL} to its REST API"
NOT_CONNECT = "but not as Kafka Connect does"
NOT_YET = f"a worker that starts answers so for some seconds; else see that {URL} is its address"
# Seconds after which a request is repeated that Connect refuses while its workers rebalance.
REBALANCE_PAUSE = 0.25
# As in ksqlDB, a request is sent again if the worker fails, or breaks the connection: it may be restarting.
ATTEMPTS, ATTEMPT_PAUSE = 3, 0.1
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
        """The worker's address for messages, without the password that it may contain."""
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
        file, hint = self.credentials, f"{CREDENTIALS_FILE} names a file of username=… and password=…"
        try:
            credentials = javaproperties.loads(file.read_text(encoding="utf-8"))
            return httpx.BasicAuth(credentials["username"], credentials["password"])
        except OSError as error:
            raise ConnectFailed(
                f"cannot read the login for Kafka Connect, {file}: {error.strerror}", 0, hint
            ) from error
        except (KeyError, ValueError) as error:
            raise ConnectFailed(f"{file} has no username and password for Kafka Connect", 0, hint) from error


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
        """The worker's version, as its REST API reports it."""
        return self._request("GET", "/", lambda answer: str(answer["version"]))

    def names(self) -> list[str]:
        """The names of all connectors."""
        return self._request("GET", "/connectors", _texts)

    def connectors(self) -> dict[str, dict[str, Any]]:
        """The `info` and the `status` of each connector, by name."""
        return self._request("GET", "/connectors?expand=info&expand=status", _connectors)

    def status(self, name: str) -> dict[str, Any]:
        """The states of a connector and its tasks."""
        return self._request("GET", f"{_path(name)}/status", _status)

    def info(self, name: str) -> dict[str, Any]:
        """A connector's configuration, tasks and type."""
        return self._request("GET", _path(name), _info)

    def topics(self, name: str) -> list[str]:
        """The topics that a connector has used."""
        return self._request(
            "GET", f"{_path(name)}/topics", lambda answer: _texts(answer.get(name, {}).get("topics", ()))
        )

    def plugins(self) -> list[dict[str, Any]]:
        """The connector plugins: class, type, version."""
        return self._request("GET", "/connector-plugins", lambda answer: [_with(plugin, "class") for plugin in answer])

    def validate(self, plugin: str, config: Mapping[str, str]) -> list[tuple[str, list[str]]]:
        """The properties of a configuration that are not valid, each with its errors."""
        path = f"/connector-plugins/{quote(plugin, safe='')}/config/validate"
        return self._request("PUT", path, _errors, dict(config))

    def create(self, name: str, config: Mapping[str, str]) -> dict[str, Any]:
        """Create a connector; returns its info."""
        return self._request("POST", "/connectors", _info, {"name": name, "config": dict(config)})

    def delete(self, name: str) -> None:
        """Delete a connector. Raises ConnectFailed with status 404 if it does not exist."""
        self._request("DELETE", _path(name), lambda answer: None)

    def _request(self, verb: str, path: str, read: Callable[[Any], T], body: object = None) -> T:
        """The answer to a request, converted by `read`. The request is repeated while Connect answers 409 because its
        workers rebalance."""
        deadline = time.monotonic() + self._access.seconds
        while True:
            answer = self._answer(verb, path, body)
            rebalances = answer.status_code == httpx.codes.CONFLICT and EXISTS not in answer.text
            if not rebalances or time.monotonic() > deadline:
                return _read(answer, read)
            time.sleep(REBALANCE_PAUSE)

    def _answer(self, verb: str, path: str, body: object) -> httpx.Response:
        """The response of the worker, with whatever status, after several attempts if it fails. Raises ConnectFailed.

        A request is not repeated after a timeout, since Connect may still be executing it.
        """
        if self._login is None or self._access.reload:
            self._login = self._access.login()
        auth = self._login or httpx.USE_CLIENT_DEFAULT
        for attempt in range(ATTEMPTS):
            is_last = attempt == ATTEMPTS - 1
            try:
                answer = self._client.request(verb, path, json=body, auth=auth)
                if is_last or not answer.is_server_error:
                    return answer
            # UnicodeError: Python's for a host's name with an empty label, or one that is too long.
            except (httpx.RequestError, UnicodeError) as error:
                if is_last or isinstance(error, httpx.TimeoutException | UnicodeError):
                    fact = f"Kafka Connect at {self._access.shown} does not answer: {network_reason(error)}"
                    raise ConnectFailed(fact, 0, HOW_TO_GET_ONE) from error
            time.sleep(ATTEMPT_PAUSE)
        raise AssertionError("the last attempt returns or raises")


def _path(name: str) -> str:
    return f"/connectors/{quote(name, safe='')}"


def _with(value: dict[str, Any], *names: str) -> dict[str, Any]:
    """An object of Connect's that has these fields. Raises KeyError, TypeError."""
    for name in names:
        value[name]
    return dict(value)


def _texts(values: Any) -> list[str]:
    if not isinstance(values, list | tuple):
        raise TypeError(f"{type(values).__name__} in place of a list")
    return [text_in(value) for value in values]


def _info(value: Any) -> dict[str, Any]:
    return {**_with(value, "name"), "config": dict(value["config"])}


def _status(value: Any) -> dict[str, Any]:
    """A connector's status: its own state, and that of each task."""
    connector, tasks = _with(value["connector"], "state"), [_with(task, "state") for task in value.get("tasks") or ()]
    return {**value, "connector": connector, "tasks": tasks}


def _connectors(answer: Any) -> dict[str, dict[str, Any]]:
    """The answer with both parts of each connector; Connect leaves out what it does not know yet."""
    parts = {"info": _info, "status": _status}
    return {
        n: {part: parts[part](value) for part, value in c.items() if value and part in parts} for n, c in answer.items()
    }


def _errors(answer: Any) -> list[tuple[str, list[str]]]:
    values = (checked["value"] for checked in answer["configs"])
    return [(text_in(value["name"]), _texts(value["errors"])) for value in values if value["errors"]]


def _read(answer: httpx.Response, read: Callable[[Any], T]) -> T:
    """An answer's JSON (None if it is empty), converted by `read`. Raises ConnectFailed for an error, and for JSON that
    `read` cannot convert."""
    try:
        content = answer.json() if answer.content else None
    except OTHER_FORM:
        content = answer.text
    if answer.is_success and not isinstance(content, str):
        with suppress(*OTHER_FORM):
            return read(content)
    if isinstance(content, dict) and "message" in content:
        message = without_user(str(content["message"]))
        raise ConnectFailed(f"Kafka Connect answered {answer.status_code}: {message}", answer.status_code)
    fact = f"{without_user(str(answer.url))} answered {answer.status_code} {answer.reason_phrase}, {NOT_CONNECT}"
    raise ConnectFailed(fact, answer.status_code if answer.status_code in LOGIN_REFUSED else 0, NOT_YET)
