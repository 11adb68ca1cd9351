"""Authentication: passwords in a file, tokens, and the answer to a client without a valid login."""

import base64
import hashlib
import json
import logging
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from getpass import GetPassWarning
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import jwt
import pytest

from millstream.cli import users as users_command
from millstream.cli.client import RestClient, ServerRefused
from millstream.cli.main import main
from millstream.client.exchange import SessionSettings
from millstream.security.login import Login, LoginRefused, login_of
from millstream.security.roles import Principal, read_roles
from millstream.security.tokens import TokenReader, TokenRules
from millstream.security.users import LENGTH, PasswordHash, UserFile, read_users, write_users
from millstream.server.options import options_of
from millstream.server.run import Server
from millstream.services.errors import SetupError
from support.engine import FakeEngine
from support.http_clients import Http1Client, WebSocket
from support.logins import PASSWORD, users_file
from support.patience import PATIENCE
from support.tokens import EXPIRED, rsa_key, token, token_settings

# The base64 of 32 bytes.
KEY_TEXT = "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE="
PATHS = ("/ksql", "/info", "/healthcheck", "/query", "/inserts-stream", "/status", "/nowhere")


@pytest.fixture
def server(engine: FakeEngine, tmp_path: Path) -> Any:
    settings = {"authentication.method": "BASIC", "millstream.users.file": str(users_file(tmp_path, {"ann": ["read"]}))}
    with Server(engine, port=0, options=options_of(settings)) as running:
        yield running


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "header",
    [
        "",
        basic("ann:wrong"),
        basic("ann:"),
        basic("ann"),
        basic(f"bob:{PASSWORD}"),
        basic(f"ANN:{PASSWORD}"),
        "Basic",
        "Basic ???",
        "Basic " + base64.b64encode(b"\xff\xfe").decode(),
        "Bearer abc",
        "Digest x",
    ],
)
def test_requests_without_a_valid_login_are_refused(server: Server, engine: FakeEngine, header: str) -> None:
    headers = {"Authorization": header} if header else {}
    for path in PATHS[:1] if header else PATHS:
        answer = httpx.post(server.url + path, json={"ksql": "SHOW STREAMS;"}, headers=headers)
        assert (answer.status_code, answer.json()["error_code"]) == (401, 40100)
        assert answer.headers["www-authenticate"] == 'Basic realm="millstream"'
    assert engine.requests == []


def test_a_login(server: Server) -> None:
    for _ in range(2):
        assert httpx.get(f"{server.url}/info", auth=("ann", PASSWORD)).status_code == 200
    assert httpx.get(f"{server.url}/chc/ready").status_code == 200
    assert httpx.get(f"{server.url}/v1/metadata/id").status_code == 200


def test_a_socket_requires_a_login(server: Server, engine: FakeEngine) -> None:
    target = "/ws/query?request=%7B%22ksql%22%3A%22SELECT%20%2A%20FROM%20odd%3B%22%7D"
    for header, closed in (({}, (401, "")), ({"Authorization": basic(f"ann:{PASSWORD}")}, (1000, "done"))):
        with WebSocket(server.port, target, header) as socket:
            while socket.message():
                pass
        assert socket.closed == closed


def test_the_shell_logs_in(server: Server) -> None:
    context = SessionSettings()
    assert RestClient(server.url, ("ann", PASSWORD)).execute("SHOW STREAMS;", context)
    in_url = RestClient(server.url.replace("://", "://ann:p%C3%A4ssword%3A%20with%20a%20colon@"))
    assert in_url.execute("SHOW STREAMS;", context)
    assert in_url.url == server.url
    with pytest.raises(ServerRefused, match="user name or password is wrong"):
        RestClient(server.url, ("ann", "wrong")).execute("SHOW STREAMS;", context)
    with pytest.raises(ServerRefused, match="requires a login\n  hint: log in with -u NAME"):
        RestClient(server.url).execute("SHOW STREAMS;", context)


def test_roles_of_which_a_user_needs_one(tmp_path: Path) -> None:
    settings = {
        "authentication.method": "BASIC",
        "authentication.roles": "team, write",
        "millstream.users.file": str(users_file(tmp_path, {"ann": ["read"], "bob": ["read", "write"]})),
    }
    with Server(FakeEngine(), port=0, options=options_of(settings)) as server:
        codes = [httpx.get(f"{server.url}/info", auth=(name, PASSWORD)).status_code for name in ("ann", "bob")]
    assert codes == [401, 200]


def test_users_are_added_listed_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "users"
    words = ["users", "--users-file", str(path)]
    monkeypatch.setattr(users_command.getpass, "getpass", lambda prompt: "one")
    assert main([*words, "add", "ann", "--role", "read", "--role", "functions"]) == 0
    users = UserFile(path)
    assert users.user("ann", "one") is not None
    monkeypatch.setattr(users_command.getpass, "getpass", lambda prompt: "two")
    assert main([*words, "add", "ann", "--role", "write"]) == 0
    assert main([*words, "add", "bob", "--role", "read"]) == 0
    # A server that has the file open sees the change, and drops the old password from its cache.
    assert users.user("ann", "one") is None
    assert (users.user("ann", "two") or pytest.fail("no user")).roles == ("write",)
    assert main(["users", "list", "--users-file", str(path)]) == 0
    assert main([*words, "remove", "ann"]) == 0
    assert users.user("ann", "two") is None
    assert list(read_users(path)) == ["bob"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert "two" not in path.read_text()
    assert "ann                     write" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "fact"),
    [
        (["add", "ann", "--role", "king"], "there is no role king"),
        (["add", "a:b", "--role", "read"], "a name, without"),
        (["remove", "nobody"], "has no user nobody"),
    ],
)
def test_a_user_that_is_not_valid(
    tmp_path: Path, words: list[str], fact: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(users_command.getpass, "getpass", lambda prompt: "x")
    users_file(tmp_path, {"ann": ["read"]})
    assert main(["users", "--users-file", str(tmp_path / "users"), *words]) == 1
    assert fact in capsys.readouterr().err


def unanswered(_: str) -> str:
    raise EOFError


def read_in_clear(_: str) -> str:
    warnings.warn("Can not control echo on the terminal.", GetPassWarning, stacklevel=2)
    return "x"


@pytest.mark.parametrize("ask", [unanswered, read_in_clear])
def test_a_password_that_nobody_can_be_asked_for(
    ask: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(users_command.getpass, "getpass", ask)
    assert main(["users", "--users-file", str(tmp_path / "users"), "add", "ann", "--role", "read"]) == 1
    reason = "there is no terminal to prompt for the password\n  hint: give it with --password-stdin\n"
    assert capsys.readouterr().err == f"millstream: {reason}"


@pytest.mark.parametrize(
    ("settings", "fact"),
    [
        ({"authentication.method": "DIGEST"}, "is not NONE, BASIC or BEARER"),
        ({"authentication.method": "BASIC", "millstream.users.file": "nowhere"}, "cannot read the users"),
        ({"authentication.method": "BEARER"}, "oauthbearer.jwks.endpoint.url"),
        ({"authentication.method": "BEARER", "oauthbearer.jwks.endpoint.url": "nowhere"}, "cannot read the keys"),
        ({"authentication.method": "BEARER", "oauthbearer.jwks.endpoint.url": "http://[::1"}, "cannot read the keys"),
    ],
)
def test_settings_of_a_login_that_are_not_valid(settings: dict[str, str], fact: str) -> None:
    with pytest.raises(SetupError, match=fact):
        options_of(settings)


@pytest.mark.parametrize(
    "line",
    [
        "ann",
        "ann:read:md5:1:1:1:a:b",
        "ann:read:scrypt:x:1:1:YQ==:YQ==",
        *(
            f"ann:read:scrypt:{numbers}:YQ==:{KEY_TEXT}"
            for numbers in ("16385:8:1", "16384:0:1", "-2:8:1", "16777216:8:1")
        ),
        "ann:read:scrypt:16384:8:1:YQ==:YQ==",
    ],
)
def test_a_line_that_is_not_a_valid_user(tmp_path: Path, line: str) -> None:
    (tmp_path / "users").write_text(f"\n{line}\n")
    with pytest.raises(SetupError, match=r"line 2 of .* is not a user"):
        read_users(tmp_path / "users")


@pytest.mark.parametrize(("n", "r", "p"), product((2, 4, 1024), (1, 8), (1, 3)))
def test_a_hash_by_other_numbers_of_scrypt(n: int, r: int, p: int) -> None:
    """Users' lines may be written by other programs; OpenSSL has its own opinion on the memory that few rounds need."""
    memory = 2**26
    key = hashlib.scrypt(PASSWORD.encode(), salt=b"salt", n=n, r=r, p=p, maxmem=memory, dklen=LENGTH)
    known = PasswordHash(n, r, p, b"salt", key)
    assert known.is_possible
    assert known.matches(PASSWORD)
    assert not known.matches("another")


@pytest.mark.parametrize(
    "text",
    [
        "[team]",
        "[team]\nrights=['all']",
        "[read]\nrights=[]",
        "[t]\nrights='read'",
        "[t]\nrights=[]\ntopics=['(']",
        "=",
    ],
)
def test_roles_that_are_not_valid(tmp_path: Path, text: str) -> None:
    (tmp_path / "roles.toml").write_text(text)
    with pytest.raises(SetupError, match="cannot read the roles"):
        read_roles(tmp_path / "roles.toml")


@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (token, ""),
        (partial(token, groups="read, write"), ""),
        (partial(token, key=partial(rsa_key, "other")), "Signature verification failed"),
        (partial(token, id="two"), "no key has the id"),
        (partial(token, exp=time.time() - 60), "expired"),
        (partial(token, exp=None), "exp"),
        (partial(token, sub=None), "sub"),
        (partial(token, iss="them"), "issuer"),
        (partial(token, aud="other"), "Audience"),
        (partial(token, key="x" * 64, algorithm="HS256"), "alg"),
        (partial(token, key=None, algorithm="none"), "alg"),
        (lambda: "a.b.c", ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "token",
)
def test_a_token(tmp_path: Path, make: Callable[[], str], fact: str) -> None:
    sent = make()
    public = [
        {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(rsa_key().public_key())), "kid": id} for id in ("one", "three")
    ]
    (tmp_path / "keys.json").write_text(json.dumps({"keys": public}))
    settings = {
        "authentication.method": "BEARER",
        "oauthbearer.jwks.endpoint.url": str(tmp_path / "keys.json"),
        "oauthbearer.expected.issuer": "us",
        "oauthbearer.expected.audience": "millstream",
    }
    with Server(FakeEngine(), port=0, options=options_of(settings)) as server:
        answer = httpx.get(f"{server.url}/info", headers={"Authorization": f"Bearer {sent}"})
    accepted = sent.count(".") == 2 and sent != "a.b.c" and not fact
    assert answer.status_code == (200 if accepted else 401)
    assert accepted or fact in answer.json()["message"]
    assert accepted or answer.headers["www-authenticate"] == 'Bearer realm="millstream"'


@pytest.mark.parametrize("text", ["[]", "null", "5", "<html>", '{"keys": [1]}', '{"keys": 5}', '{"keys": []}'])
def test_keys_that_are_no_jwks(tmp_path: Path, text: str) -> None:
    (tmp_path / "keys.json").write_text(text)
    with pytest.raises(SetupError, match=r"cannot read the keys at .*keys.json: "):
        TokenReader(TokenRules(str(tmp_path / "keys.json")))


def test_a_password_in_the_address_of_keys_is_not_shown() -> None:
    with pytest.raises(SetupError, match=r"cannot read the keys at http://\[hidden\]@127.0.0.1:1/keys: "):
        TokenReader(TokenRules("http://us:hush@127.0.0.1:1/keys"))


def test_keys_that_cannot_be_read_again_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each token of a known key is accepted, and the log says why the keys are not read."""
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"keys": [json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(rsa_key().public_key()))]}))
    reader = TokenReader(TokenRules(str(file)))
    file.write_text("[]")
    monkeypatch.setattr("millstream.security.tokens.CACHE_SECONDS", 0.0)
    with caplog.at_level(logging.ERROR):
        assert reader.user(token(aud=None)).name == "ann"
    assert caplog.messages == [f"cannot read the keys at {file}: it is not a JWKS; those from before are used"]


@pytest.mark.parametrize("path", ["/query-stream", "/query", "/ws/query"])
def test_a_running_query_ends_when_its_token_expires(engine: FakeEngine, tmp_path: Path, path: str) -> None:
    with Server(engine, port=0, options=options_of(token_settings(tmp_path))) as server:
        login = f"Bearer {token(aud=None, exp=int(time.time()) + 3)}"
        assert EXPIRED in _endless(server, path, login)
        assert all(rows.closed.wait(PATIENCE) for rows in engine.queries.values())


def test_an_insert_stream_ends_when_its_token_expires(engine: FakeEngine, tmp_path: Path) -> None:
    login = f"Authorization: Bearer {token(aud=None, groups='write', exp=int(time.time()) + 3)}\r\n"
    with (
        Server(engine, port=0, options=options_of(token_settings(tmp_path))) as server,
        Http1Client(server.port, "/inserts-stream", login) as client,
    ):
        client.send('{"target":"ORDERS"}\n')
        assert client.status() == 200
        ack = {"status": "ok"}
        while ack["status"] == "ok":
            client.send('{"ID":1}\n')
            ack = json.loads(client.part())
            time.sleep(0.1)
        assert ack["message"] == EXPIRED


def test_a_websocket_outlives_its_token_on_a_server_without_a_limit_for_sockets(
    engine: FakeEngine, tmp_path: Path
) -> None:
    """As in ksqlDB, whose ksql.websocket.connection.max.timeout.ms is 0 then."""
    settings = {**token_settings(tmp_path), "ksql.websocket.connection.max.timeout.ms": "0"}
    expires = int(time.time()) + 2
    header = {"Authorization": f"Bearer {token(aud=None, exp=expires)}"}
    target = f"/ws/query?request={quote(json.dumps({'ksql': 'SELECT * FROM endless EMIT CHANGES;'}))}"
    with Server(engine, port=0, options=options_of(settings)) as server, WebSocket(server.port, target, header):
        (rows,) = engine.wait_for_queries(1)
        assert not rows.closed.wait(expires + 2 - time.time())


def test_a_pull_query_is_finished_after_its_token_expires() -> None:
    """Its answer comes to an end, and a client can begin no other."""
    ann = Principal("ann", (), expires=0.0)
    login = Login(None, None, {})
    with pytest.raises(LoginRefused, match="has expired"):
        login.current(ann)
    assert login.current(ann.without_expiry()) == ann.without_expiry()


def test_no_login_is_required_by_default() -> None:
    assert options_of({}).login is None
    assert login_of({"authentication.method": "NONE"}) is None


@pytest.mark.parametrize(
    ("roles", "why"), [(None, "user ann has been removed"), (("write",), "the roles of user ann have changed")]
)
@pytest.mark.parametrize("path", ["/query-stream", "/query", "/ws/query"])
def test_a_running_query_ends_when_its_user_is_removed_or_changed(
    engine: FakeEngine, tmp_path: Path, path: str, roles: tuple[str, ...] | None, why: str
) -> None:
    users = users_file(tmp_path, {"ann": ["read"], "bob": ["read"]})
    settings = {"authentication.method": "BASIC", "millstream.users.file": str(users)}
    with Server(engine, port=0, options=options_of(settings)) as server, ThreadPoolExecutor() as threads:
        answers = {name: threads.submit(_endless, server, path, basic(f"{name}:{PASSWORD}")) for name in ("ann", "bob")}
        engine.wait_for_queries(2)
        before = read_users(users)
        changed = {} if roles is None else {"ann": replace(before["ann"], roles=roles)}
        write_users(users, {"bob": before["bob"], **changed})
        assert why in answers["ann"].result(PATIENCE)
        assert not answers["bob"].done()
        write_users(users, changed)
        assert "user bob has been removed" in answers["bob"].result(PATIENCE)


@pytest.mark.parametrize(
    ("roles", "why"), [(None, "user ann has been removed"), (("read",), "the roles of user ann have changed")]
)
def test_an_insert_stream_ends_when_its_user_is_removed_or_changed(
    engine: FakeEngine, tmp_path: Path, roles: tuple[str, ...] | None, why: str
) -> None:
    """No row is written any more, and the answer ends."""
    users = users_file(tmp_path, {"ann": ["write"]})
    settings = {"authentication.method": "BASIC", "millstream.users.file": str(users)}
    login = f"Authorization: {basic(f'ann:{PASSWORD}')}\r\n"
    with (
        Server(engine, port=0, options=options_of(settings)) as server,
        Http1Client(server.port, "/inserts-stream", login) as client,
    ):
        client.send('{"target":"ORDERS"}\n')
        assert client.status() == 200
        write_users(users, {} if roles is None else {"ann": replace(read_users(users)["ann"], roles=roles)})
        for _ in range(100):
            client.send('{"ID":1}\n')
            ack = json.loads(client.part())
            if ack["status"] == "error":
                break
            time.sleep(0.1)
        assert (ack["message"], ack["seq"]) == (why, len(engine.inserted))
        assert client.part() == ""
        assert engine.inserters[0].closed


def _endless(server: Server, path: str, login: str) -> str:
    """The whole answer to a push query; `login` is the Authorization header."""
    text = "SELECT * FROM endless EMIT CHANGES;"
    if path == "/ws/query":
        target = f"{path}?request={quote(json.dumps({'ksql': text}))}"
        with WebSocket(server.port, target, {"Authorization": login}) as socket:
            while socket.message():
                pass
        return str(socket.closed)
    body = {"ksql" if path == "/query" else "sql": text}
    return httpx.post(server.url + path, json=body, headers={"Authorization": login}, timeout=PATIENCE).text


def test_a_file_of_users_that_has_become_unreadable(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The reason is in the log, once, and not told to who is not logged in."""
    users = (tmp_path / "users").read_text()
    (tmp_path / "users").write_text("ann:read\n")
    for _ in range(3):
        answer = httpx.get(f"{server.url}/info", auth=("ann", PASSWORD))
        assert (answer.status_code, answer.json()["error_code"]) == (503, 50302)
        assert answer.json()["message"] == "the server cannot check logins now: its log says why"
    assert httpx.get(f"{server.url}/chc/ready").status_code == 200
    assert [r.message.split(": ")[0] for r in caplog.records if "users" in r.name] == ["nobody can log in"]
    (tmp_path / "users").write_text(users)
    assert httpx.get(f"{server.url}/info", auth=("ann", PASSWORD)).status_code == 200


def test_a_full_disk_leaves_the_file_of_users_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a part of another one beside it."""
    path = users_file(tmp_path, {"ann": ["read"]})
    before = path.read_text()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(SetupError, match=r"cannot write .*: No space left on device"):
        write_users(path, {})
    assert (path.read_text(), list(tmp_path.iterdir())) == (before, [path])
