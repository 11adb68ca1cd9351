"""Logins of Postgres's clients: SCRAM, passwords through TLS, roles, the audit; by psycopg and by asyncpg."""

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import asyncpg
import psycopg
import pytest

from millstream.pg.context import PgContext
from millstream.pg.server import PgServer
from millstream.security.scram import ScramExchange, ScramRefused, ScramVerifier, prepared, verifier
from millstream.security.tls import server_context
from millstream.security.users import add_user, read_users, remove_user
from millstream.server.context import ServerContext
from millstream.server.options import options_of
from support.certificates import Authority
from support.logins import ParsingEngine
from support.patience import PATIENCE
from support.pg_engine import address
from support.tokens import EXPIRED, token, token_settings

PASSWORD = "pässword ☃"


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, str]:
    """A server with the users ann (SCRAM) and old (none), who may read ORDERS."""
    users, roles = tmp_path / "users", tmp_path / "roles.toml"
    roles.write_text('[team]\nrights = ["read"]\nsources = ["ORDERS"]\ntopics = ["orders"]\n')
    add_user(users, "ann", ("team",), PASSWORD, scram=True)
    add_user(users, "old", ("team",), PASSWORD)
    return {
        "authentication.method": "BASIC",
        "millstream.users.file": str(users),
        "millstream.roles.file": str(roles),
        "millstream.audit.file": str(tmp_path / "audit"),
    }


def served(settings: dict[str, str], tls: Authority | None = None) -> PgServer:
    options = options_of(settings)
    context = server_context(tls.settings("pem"), ("postgresql",)) if tls else None
    work = ServerContext(ParsingEngine(), options.limits, audit=options.audit)
    return PgServer(PgContext(work, options.login, context), port=0)


@pytest.mark.parametrize("user", ["ann", "old"])
def test_a_user_logs_in_and_has_the_rights_of_his_roles(settings: dict[str, str], user: str) -> None:
    with (
        served(settings) as server,
        psycopg.connect(address(server, user=user), password=PASSWORD, autocommit=True) as connection,
    ):
        assert len(connection.execute("SELECT * FROM orders EMIT CHANGES LIMIT 3").fetchall()) == 3
        assert connection.execute("SELECT current_user").fetchone() == (user,)
        assert connection.execute("SELECT relname FROM pg_class").fetchall() == [("orders",)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="lacks the right read on source SECRETS"):
            connection.execute("SELECT * FROM secrets EMIT CHANGES")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("DROP STREAM orders")
    entries = [json.loads(line) for line in Path(settings["millstream.audit.file"]).read_text().splitlines()]
    assert {entry["user"] for entry in entries} == {user}
    assert [entry["status"] for entry in entries] == ["00000", "00000", "00000", "42501", "42501"]


@pytest.mark.parametrize(("user", "password"), [("ann", "wrong"), ("old", "wrong"), ("nobody", PASSWORD)])
def test_a_wrong_login_is_refused(settings: dict[str, str], user: str, password: str) -> None:
    refusal = f'password authentication failed for user "{user}"'
    with served(settings) as server, pytest.raises(psycopg.OperationalError, match=refusal):
        psycopg.connect(address(server, user=user), password=password)


def test_scram_alone_is_offered_to_a_user_who_has_it(settings: dict[str, str]) -> None:
    with served(settings) as server:
        psycopg.connect(address(server, user="ann", require_auth="scram-sha-256"), password=PASSWORD).close()
        with pytest.raises(psycopg.OperationalError, match="scram-sha-256"):
            psycopg.connect(address(server, user="old", require_auth="scram-sha-256"), password=PASSWORD)


def test_asyncpg_logs_in_by_scram(settings: dict[str, str]) -> None:
    async def answers(port: int) -> object:
        connection = await asyncpg.connect(host="127.0.0.1", port=port, user="ann", password=PASSWORD, database="x")
        try:
            return await connection.fetchval("SELECT current_user")
        finally:
            await connection.close()

    with served(settings) as server:
        assert asyncio.run(answers(server.port)) == "ann"


def test_tls_with_the_servers_certificate(settings: dict[str, str], tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    trust = str(authority.folder / "trust.pem")
    with served(settings, authority) as server:
        verified = address(server, user="old", sslmode="verify-full", sslrootcert=trust)
        with psycopg.connect(verified, password=PASSWORD, autocommit=True) as connection:
            assert connection.pgconn.ssl_in_use
            assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_verifier_survives_the_file_and_fits_its_password(settings: dict[str, str]) -> None:
    kept = read_users(Path(settings["millstream.users.file"]))["ann"].scram
    assert isinstance(kept, ScramVerifier)
    assert kept == verifier(PASSWORD, kept.salt, kept.iterations)
    assert kept != verifier("wrong", kept.salt, kept.iterations)


def test_the_example_of_rfc_7677() -> None:
    exchange = ScramExchange(verifier("pencil", bytes.fromhex("5b6d99689d123585ecaa2ed2bdc6ce5b"), 4096))
    challenge = exchange.challenge(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO").decode()
    assert challenge.startswith("r=rOprNGfwEbeRWgbNEkqO")
    with pytest.raises(ScramRefused, match="does not belong"):
        exchange.verified(b"c=biws,r=rOprNGfwEbeRWgbNEkqO,p=dHpiWg==")


@pytest.mark.parametrize(
    ("password", "expected"),
    [
        ("I\u00adX", "IX"),
        ("user", "user"),
        ("\u00aa", "a"),
        ("\u2168", "IX"),
        ("\u0007", "\u0007"),
        ("a\u00a0b", "a b"),
    ],
)
def test_passwords_are_prepared_as_rfc_4013_says(password: str, expected: str) -> None:
    assert prepared(password) == expected


def test_a_user_who_is_removed_or_changed_while_connected(settings: dict[str, str]) -> None:
    """Each statement has the rights that its user has when it comes; the connection of a removed one ends."""
    users = Path(settings["millstream.users.file"])
    with (
        served(settings) as server,
        psycopg.connect(address(server, user="ann"), password=PASSWORD, autocommit=True) as connection,
    ):
        assert len(connection.execute("SELECT * FROM orders EMIT CHANGES LIMIT 3").fetchall()) == 3
        add_user(users, "ann", ("functions",), PASSWORD, scram=True)
        assert len(connection.execute("SELECT * FROM secrets EMIT CHANGES LIMIT 3").fetchall()) == 3
        remove_user(users, "ann")
        with pytest.raises(psycopg.OperationalError, match="user ann has been removed"):
            connection.execute("SELECT * FROM orders EMIT CHANGES LIMIT 3")
        assert connection.closed


def test_an_idle_session_ends_when_its_token_expires(tmp_path: Path) -> None:
    async def until_the_end(port: int) -> None:
        closed, login = asyncio.Event(), token(aud=None, exp=int(time.time()) + 3)
        connection = await asyncpg.connect(
            host="127.0.0.1", port=port, user="ann", database="millstream", password=login
        )
        connection.add_termination_listener(lambda _: closed.set())
        await asyncio.wait_for(closed.wait(), PATIENCE)

    with served(token_settings(tmp_path)) as server:
        asyncio.run(until_the_end(server.port))


def test_a_running_push_query_of_a_session_ends_when_its_token_expires(tmp_path: Path) -> None:
    """Its client is told why, as one is that sends another statement then."""
    login = token(aud=None, exp=int(time.time()) + 3)
    with (
        served(token_settings(tmp_path)) as server,
        ThreadPoolExecutor() as threads,
        psycopg.connect(address(server, user="ann"), password=login, autocommit=True) as connection,
    ):
        running = threads.submit(connection.execute, "SELECT * FROM endless EMIT CHANGES")
        while not running.done():
            # The watch of the HTTP server, which runs beside this one, does so every second.
            assert server._context.login is not None
            server._context.feeds.end_changed(server._context.login.current)
            time.sleep(0.1)
        with pytest.raises(psycopg.errors.InvalidAuthorizationSpecification, match=EXPIRED):
            running.result()
        # The end of the connection may overtake its reason, as it does with Postgres.
        with pytest.raises(psycopg.OperationalError, match=f"{EXPIRED}|server closed the connection"):
            connection.execute("SELECT * FROM endless EMIT CHANGES")


def test_a_file_of_users_that_has_become_unreadable(settings: dict[str, str]) -> None:
    with served(settings) as server:
        Path(settings["millstream.users.file"]).write_text("ann:read\n")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(address(server, user="ann"), password=PASSWORD)
