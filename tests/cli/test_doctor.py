"""`millstream doctor`: each check, with what is well and with each fault that it is for."""

import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import HTTPServer
from importlib import metadata
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

from millstream.cli import checks
from millstream.cli.checks import CheckContext, CheckOutcome, CheckResult
from millstream.cli.main import main
from millstream.engine import first_connection
from millstream.engine.session_options import local_folder
from millstream.model.settings import effective
from millstream.services.broker import BrokerProcess
from millstream.services.java import java
from millstream.services.ports import free_port
from millstream.spark.checkpoint import location
from support.certificates import server_files
from support.http_server import QuietHandler, serving
from support.logins import users_file

PASSED, FAILED, NOT_CHECKED = CheckOutcome.PASSED, CheckOutcome.FAILED, CheckOutcome.NOT_CHECKED
NOWHERE = "127.0.0.1:1"


def check_context(**settings: str) -> CheckContext:
    """The input of the checks with these settings; two underscores for a dot."""
    named = {name.replace("__", "."): value for name, value in settings.items()}
    return CheckContext(effective({"bootstrap.servers": NOWHERE, "ksql.service.id": "doctor_", **named}))


@pytest.fixture
def answering() -> Iterator[HTTPServer]:
    """A server of HTTP that answers each request 503, or 200 with the rest of a path that begins with /says/."""

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            words = self.path.split("/")
            says = words[1] == "says"
            self.answer(200 if says else 503, unquote(words[2]).encode() if says else b"")

    with serving(HTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield server


def test_the_checks_pass_on_this_machine() -> None:
    for check in (checks.python, checks.java_runtime, checks.spark):
        assert check(check_context()).outcome is PASSED, check(check_context())


def test_an_old_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks.sys, "version_info", (3, 10, 4))
    assert checks.python(check_context()).remedy == "install Python 3.11 or later, and millstream in it"


def test_no_java_and_an_old_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    missing = checks.java_runtime(check_context())
    assert (missing.outcome, "install a Java 17 runtime" in missing.remedy) == (FAILED, True)
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    program.chmod(0o755)
    assert "is Java 11" in checks.java_runtime(check_context()).fact
    java.cache_clear()


def test_a_spark_master_that_listens_and_one_that_does_not() -> None:
    assert checks.spark_cluster(check_context()).outcome is PASSED
    assert checks.spark_cluster(check_context(millstream__spark__master="local[4]")).outcome is PASSED
    away = checks.spark_cluster(check_context(millstream__spark__master=f"spark://{NOWHERE}"))
    assert (away.outcome, away.fact.startswith(f"no Spark master answers at {NOWHERE}: ")) == (FAILED, True)
    assert "millstream.spark.master" in away.remedy
    for of_others in ("k8s://https://kubernetes.default.svc", "yarn", "spark://here"):
        assert checks.spark_cluster(check_context(millstream__spark__master=of_others)).outcome is NOT_CHECKED
    with socket.create_server(("127.0.0.1", 0)) as listening:
        there = f"127.0.0.1:{listening.getsockname()[1]}"
        second = checks.spark_cluster(check_context(millstream__spark__master=f"spark://{NOWHERE},{there}"))
        assert second == CheckResult(PASSED, f"a Spark master listens at {there}")


def test_another_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks.metadata, "version", lambda name: "3.5.0")
    monkeypatch.setattr(checks.metadata, "requires", lambda name: ["pyspark==4.3.0"])
    assert checks.spark(check_context()) == CheckResult(
        FAILED, "Spark 3.5.0, and millstream requires 4.3.0", "pip install pyspark==4.3.0"
    )


def test_no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(checks.metadata, "version", absent)
    assert checks.spark(check_context()).fact == "there is no Spark"


def test_a_place_that_cannot_be_written_to(tmp_path: Path) -> None:
    assert checks.checkpoints(check_context(millstream__data__dir=str(tmp_path / "new"))).outcome is PASSED
    assert list((tmp_path / "new").iterdir()) == []
    (tmp_path / "file").write_text("")
    refused = checks.checkpoints(check_context(millstream__data__dir=str(tmp_path / "file" / "data")))
    assert (refused.outcome, "set millstream.data.dir" in refused.remedy) == (FAILED, True)
    assert checks.checkpoints(check_context(millstream__data__dir="s3a://bucket/data")).outcome is NOT_CHECKED


@pytest.mark.parametrize(
    ("folder", "place"),
    [("file:{}/a", "{}/a"), ("file://{}/a%20b", "{}/a b"), ("{}/%41", "{}/%41"), ("{}/~x", "{}/~x")],
)
def test_the_place_is_the_servers(tmp_path: Path, folder: str, place: str) -> None:
    """A path is taken as it is written, and a URL of file: is a path."""
    settings = check_context(millstream__data__dir=folder.format(tmp_path)).settings
    assert checks.checkpoints(CheckContext(settings)).fact == f"{place.format(tmp_path)} can be written to"
    assert str(local_folder(settings)) == place.format(tmp_path)
    assert unquote(location(folder.format(tmp_path))).removeprefix("file:").removeprefix("//") == place.format(tmp_path)


@pytest.mark.parametrize("folder", ["~nobody-of-that-name/data", "x" * 300, "http://[::1"])
def test_a_place_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    """Each check has a result."""
    monkeypatch.chdir(tmp_path)
    for check in (checks.checkpoints, checks.disk):
        assert check(check_context(millstream__data__dir=folder)).fact


def test_too_little_disk(tmp_path: Path) -> None:
    settings = check_context(millstream__data__dir=str(tmp_path / "not" / "there")).settings
    assert checks.disk(CheckContext(settings, free_gib=0.0)).outcome is PASSED
    full = checks.disk(CheckContext(settings, free_gib=1e9))
    assert (full.outcome, "make room there" in full.remedy) == (FAILED, True)


def test_a_port_for_postgres_that_is_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        number = other.getsockname()[1]
        settings = {"listeners": f"http://127.0.0.1:{free_port()}", "millstream.pg.listen": f"127.0.0.1:{number}"}
        result = checks.port(CheckContext(effective(settings), 1.0))
    assert result.fact == f"port {number}, for Postgres's clients, is in use by something else"


def test_a_port_in_use(answering: HTTPServer) -> None:
    assert checks.port(check_context(listeners=f"http://127.0.0.1:{free_port()}")).outcome is PASSED
    taken = checks.port(check_context(listeners=f"http://127.0.0.1:{answering.server_port}"))
    assert taken.fact == f"port {answering.server_port} is in use by something else"
    assert checks.port(check_context(listeners="http://nowhere")).outcome is FAILED


BASIC = {"authentication__method": "BASIC"}


def test_the_login(tmp_path: Path) -> None:
    assert checks.login(check_context()).outcome is PASSED
    exposed = checks.login(check_context(listeners="http://0.0.0.0:8088"))
    assert (exposed.outcome, "without a login, every client" in exposed.fact) == (FAILED, True)
    file, roles = tmp_path / "users", tmp_path / "roles.toml"
    settings = {**BASIC, "millstream__users__file": str(file)}
    absent = checks.login(check_context(**settings))
    assert (absent.fact, absent.remedy) == (
        f"cannot read the users in {file}: No such file or directory",
        "`millstream users add NAME --role ROLE` writes it",
    )
    file.write_text("")
    assert checks.login(check_context(**settings)).fact == f"{file} has no user"
    users_file(tmp_path, {"ann": ["read"], "bob": ["read", "team"]}).rename(file)
    unknown = checks.login(check_context(**settings))
    assert unknown.fact == f"{file}: user bob has the role team, which does not exist"
    assert unknown.remedy == "there are read, write, functions, admin; millstream.roles.file names a file of others"
    settings["millstream__roles__file"] = str(roles)
    assert "cannot read the roles in" in checks.login(check_context(**settings)).fact
    roles.write_text('[team]\nrights = ["read"]\n')
    assert checks.login(check_context(**settings, listeners="http://0.0.0.0:8088")) == CheckResult(
        PASSED, f"2 in {file}: 2 read, 1 team"
    )
    without_user = checks.login(check_context(**settings, authentication__roles="admin, write"))
    assert without_user.fact == "no user has a role that authentication.roles requires: admin, write"


def test_the_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends in two days."""
    _, file = server_files(tmp_path)
    settings = {"listeners": "https://127.0.0.1:8088", "ssl__keystore__location": str(file)}
    assert "needs ssl.keystore.location" in checks.certificate(check_context(listeners=settings["listeners"])).fact
    expires_soon = checks.certificate(check_context(**settings))
    assert (expires_soon.outcome, expires_soon.fact.startswith(f"the certificate in {file} expires on 20")) == (
        FAILED,
        True,
    )
    assert expires_soon.remedy == f"renew it in {file}: a server that runs takes it"
    monkeypatch.setattr(checks, "RENEWAL_DAYS", 1)
    assert checks.certificate(check_context(**settings)).fact.startswith(f"{file} is valid until 20")
    for days, fact in ((3, " has expired on 20"), (-3, " is valid from 20")):
        moved = replace(check_context(**settings), clock=lambda days=days: time.time() + days * checks.DAY)  # type: ignore[misc]
        assert fact in checks.certificate(moved).fact
    assert checks.certificate(check_context()).outcome is PASSED


def test_a_keystore_that_cannot_be_used(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    pieces = []
    for folder in (own, other):
        folder.mkdir()
        _, file = server_files(folder)
        pieces.append(file.read_text().partition("-----BEGIN CERTIFICATE-----"))
    file = own / "server.pem"
    settings = {"listeners": "https://127.0.0.1:8088", "ssl__keystore__location": str(file)}
    file.write_text(pieces[0][0] + "".join(pieces[1][1:]))
    assert checks.certificate(check_context(**settings)).fact == (
        f"no TLS: the key in {file} does not fit its first certificate"
    )
    file.write_text("".join(pieces[0][1:]))
    refused = checks.certificate(check_context(**settings))
    assert refused.fact.startswith(f"no TLS: {file} has no certificate with a key that the password opens")
    assert refused.remedy == "see ssl.keystore.location, ssl.keystore.password, ssl.key.password"


def test_the_audits_file(tmp_path: Path) -> None:
    """It is not created: the server may be another user."""
    assert checks.audit(check_context()).outcome is PASSED
    assert checks.audit(check_context(millstream__audit__topic="audit")).fact == "topic audit"
    file = tmp_path / "logs" / "audit"
    settings = check_context(millstream__audit__file=str(file))
    assert (checks.audit(settings), list(tmp_path.iterdir())) == (CheckResult(PASSED, f"file {file}"), [])
    (tmp_path / "logs").write_text("")
    assert "cannot be written" in checks.audit(settings).fact
    (tmp_path / "logs").unlink()
    file.mkdir(parents=True)
    assert checks.audit(settings).fact == f"{file} cannot be written: Is a directory"


def test_no_registry_and_one_that_refuses(answering: HTTPServer) -> None:
    assert checks.registry(check_context()).outcome is PASSED
    name = "ksql__schema__registry__url"
    assert "answers 503" in checks.registry(check_context(**{name: f"http://127.0.0.1:{answering.server_port}"})).fact
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
    unreachable = checks.registry(check_context(**{name: f"http://127.0.0.1:{port}"}))
    assert unreachable.fact.startswith(f"no schema registry answers at http://127.0.0.1:{port}: ")
    assert "is not a URL" in checks.registry(check_context(**{name: "http://registry:port"})).fact
    assert "answers at http://a..b:1: " in checks.registry(check_context(**{name: "http://a..b:1"})).fact


@pytest.mark.parametrize(("answer", "is_registry"), [("[]", True), ('["a"]', True), ("{}", False), ("<html>", False)])
def test_what_is_no_registry(answering: HTTPServer, answer: str, is_registry: bool) -> None:
    """The password in its address is not shown."""
    url = f"http://us:hush@127.0.0.1:{answering.server_port}/says/{quote(answer)}"
    shown = f"http://[hidden]@127.0.0.1:{answering.server_port}/says/{quote(answer)}"
    result = checks.registry(check_context(ksql__schema__registry__url=url))
    fact = f"schema registry at {shown}" if is_registry else f"the server at {shown} is not a schema registry"
    assert (result.outcome, result.fact) == (PASSED if is_registry else FAILED, fact)
    refused = checks.registry(
        check_context(ksql__schema__registry__url="http://us:hush@127.0.0.1:1,http://us:hush@127.0.0.1:2")
    )
    assert refused.fact.startswith("no schema registry answers at http://[hidden]@127.0.0.1:1: ")


def test_no_connect_and_one_that_is_away_or_refuses(answering: HTTPServer, tmp_path: Path) -> None:
    name = "ksql__connect__url"
    assert checks.connect(check_context(**{name: ""})).fact == "none: connectors need one (ksql.connect.url)"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
    unreachable = checks.connect(check_context(**{name: f"http://127.0.0.1:{port}"}))
    assert (unreachable.outcome, unreachable.fact.partition(" does not answer: ")[0]) == (
        FAILED,
        f"Kafka Connect at http://127.0.0.1:{port}",
    )
    assert "see that it runs there" in unreachable.remedy
    refusing = checks.connect(check_context(**{name: f"http://127.0.0.1:{answering.server_port}"}))
    assert (refusing.outcome, "answered 503" in refusing.fact) == (FAILED, True)
    without = check_context(
        **{name: "http://127.0.0.1:1", "ksql__connect__ssl__truststore__location": str(tmp_path / "no")}
    )
    assert (checks.connect(without).outcome, "no TLS to Kafka Connect" in checks.connect(without).fact) == (
        FAILED,
        True,
    )


def test_there_need_be_no_connect_at_the_default_address(monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = f"http://{NOWHERE}"
    monkeypatch.setitem(
        checks.SETTINGS, checks.CONNECT_URL, replace(checks.SETTINGS[checks.CONNECT_URL], default=nowhere)
    )
    none = checks.connect(check_context(ksql__connect__url=nowhere))
    assert (none.outcome, none.fact) == (PASSED, f"none at {nowhere}: connectors need one (ksql.connect.url)")


def test_no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_connection, "PATIENCE", 0.5)
    unreachable = checks.broker(check_context())
    assert (unreachable.outcome, unreachable.fact.startswith(f"no broker answers at {NOWHERE}")) == (FAILED, True)
    unnamed = check_context(bootstrap__servers="")
    assert checks.broker(unnamed).fact == "no broker is named"
    assert checks.clock(unnamed).outcome is NOT_CHECKED


def test_a_broker_and_its_clock(broker: BrokerProcess) -> None:
    settings = check_context(bootstrap__servers=broker.bootstrap).settings
    assert checks.broker(CheckContext(settings)).outcome is PASSED
    assert checks.clock(CheckContext(settings)).outcome is PASSED
    late = checks.clock(CheckContext(settings, clock=lambda: time.time() - 3600))
    assert (late.outcome, "s behind the broker's" in late.fact) == (FAILED, True)
    early = checks.clock(CheckContext(settings, clock=lambda: time.time() + 3600))
    assert "s ahead of the broker's" in early.fact


def test_the_lines_and_the_exit_code(broker: BrokerProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["doctor", "--bootstrap-servers", broker.bootstrap, "--data-dir", str(tmp_path), "--free-gib", "0"]
    words += ["--listen", f"127.0.0.1:{free_port()}"]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == [name for name, _ in checks.CHECKS]
    assert main([*words, "--free-gib", "1e9"]) == 1
    assert "→ make room there" in capsys.readouterr().out
    assert main(["doctor", "--bootstrap-servers", broker.bootstrap, "--set", "ksql.no.such=1"]) == 1
