"""Configuration of a server: files, words and addresses."""

from argparse import ArgumentParser
from pathlib import Path

import pytest

from millstream.cli import server
from millstream.cli.exposure import check_exposure
from millstream.cli.main import main
from millstream.cli.properties import address_of, from_environment, read_properties, settings_of
from millstream.cli.service import engine_properties, serving
from millstream.services.errors import SetupError


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("a=b", {"a": "b"}),
        ("# no\n! no\n\n  a.b : c d  \nx\n", {"a.b": "c d  ", "x": ""}),
        ("a = one,\\\n    two\nb=3", {"a": "one,two", "b": "3"}),
        (r"a\:b\=c=\u00e9\t\\", {"a:b=c": "é\t\\"}),
        ("url=http://x:8081/a=b", {"url": "http://x:8081/a=b"}),
        ("a=b\r\nc=d\r\n", {"a": "b", "c": "d"}),
        ("\ufeffa=b", {"a": "b"}),
    ],
)
def test_properties(text: str, properties: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_bytes(text.encode())
    assert read_properties(file) == properties


@pytest.mark.parametrize(
    ("content", "fact"), [(b"a=\\u12", "u12"), (b"a=\xff", "not UTF-8 text"), (None, "No such file")]
)
def test_a_file_that_cannot_be_read(content: bytes | None, fact: str, tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SetupError, match=fact):
        read_properties(file)


@pytest.mark.parametrize(
    ("variable", "value", "properties"),
    [
        ("KSQL_KSQL_SERVICE_ID", "shop_", {"ksql.service.id": "shop_"}),
        ("KSQL_BOOTSTRAP_SERVERS", "kafka:9092", {"bootstrap.servers": "kafka:9092"}),
        (
            "KSQL_KSQL_JSON__SR_CONVERTER_DESERIALIZER_ENABLED",
            "x",
            {"ksql.json_sr.converter.deserializer.enabled": "x"},
        ),
        ("KSQL_A___B", "x", {"a-b": "x"}),
        ("KSQL_OPTS", "-Dksql.service.id='a b' -Xmx2g -Djava.io.tmpdir=/x -Dx", {"ksql.service.id": "a b", "x": ""}),
        ("KSQL_HEAP_OPTS", "-Dksql.service.id=no", {}),
        ("KSQL_LOG4J_ROOT_LOGLEVEL", "INFO", {}),
        ("KSQL_CLASSPATH", "/x", {}),
        ("PATH", "/bin", {}),
    ],
)
def test_properties_in_variables(variable: str, value: str, properties: dict[str, str]) -> None:
    assert from_environment({variable: value}) == properties


def test_options_that_cannot_be_read() -> None:
    with pytest.raises(SetupError, match="KSQL_OPTS: No closing quotation"):
        from_environment({"KSQL_OPTS": "-Dx='a"})


def test_variables_override_the_file_and_are_overridden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "server.properties"
    file.write_text("a=file\nb=file\nc=file\n")
    monkeypatch.setenv("KSQL_B", "variable")
    monkeypatch.setenv("KSQL_C", "variable")
    parser = ArgumentParser()
    server.add_options(parser)
    words = ["--config-file", str(file), "--set", "c=word"]
    assert server.properties(parser.parse_args([*words, "--environment"])) == {
        "a": "file",
        "b": "variable",
        "c": "word",
    }
    assert server.properties(parser.parse_args(words)) == {"a": "file", "b": "file", "c": "word"}


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0.0.0.0:8088", ("0.0.0.0", 8088)),
        ("8088", ("127.0.0.1", 8088)),
        (":8088", ("127.0.0.1", 8088)),
        ("http://host:80,http://other:81", ("host", 80)),
        ("http://host:80/", ("host", 80)),
        ("[::1]:80", ("::1", 80)),
    ],
)
def test_address(text: str, address: tuple[str, int]) -> None:
    assert address_of(text) == address


@pytest.mark.parametrize("text", ["", "host", "host:", "host:http", "host:65536"])
def test_no_address(text: str) -> None:
    with pytest.raises(SetupError, match="HOST:PORT"):
        address_of(text)


def test_no_setting() -> None:
    with pytest.raises(SetupError, match="--set KEY=VALUE"):
        settings_of(["novalue"])


def test_options_outrank_words_and_words_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "server.properties"
    file.write_text("ksql.service.id=file\nbootstrap.servers=file:9092\nlisteners=http://0.0.0.0:1\nother=file\n")
    seen = []
    monkeypatch.setattr(server, "run", lambda args: seen.append(server.properties(args)) or 0)
    words = ["--config-file", str(file), "--set", "ksql.service.id=word", "--set", "x=y", "--listen", "127.0.0.1:9"]
    assert main(["server", *words, "--bootstrap-servers", "option:9092", "--queries-file", "shop.sql"]) == 0
    assert seen == [
        {
            "ksql.service.id": "word",
            "bootstrap.servers": "option:9092",
            "listeners": "http://127.0.0.1:9",
            "ksql.queries.file": "shop.sql",
            "other": "file",
            "x": "y",
        }
    ]


def test_a_server_without_kafka_says_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once: Spark, for which the Scala module may have to be compiled first, is not started."""
    monkeypatch.setattr(server, "launch", lambda options: pytest.fail("Spark was started"))
    assert main(["server", "--listen", "127.0.0.1:0"]) == 1
    assert "bootstrap.servers is not set" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["dev", "server"])
def test_help_of_commands(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert f"millstream {command}" in capsys.readouterr().out


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_a_server_may_listen_on_this_machine(host: str) -> None:
    check_exposure(host, {}, login=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "host.example"])
def test_a_server_on_a_network_requires_a_login_or_the_insecure_flag(host: str) -> None:
    with pytest.raises(SetupError, match=f"every client that reaches {host} can send any statement.*\n.*--insecure"):
        check_exposure(host, {}, login=False)
    check_exposure(host, {"millstream.insecure": "true"}, login=False)
    check_exposure(host, {}, login=True)


def test_functions_in_python_are_off_where_anyone_may_make_them() -> None:
    name = "millstream.python.functions.enabled"
    assert engine_properties({}, is_public=True) == {name: "false"}
    assert engine_properties({name: "true"}, is_public=True) == {name: "true"}
    assert engine_properties({}, is_public=False) == {}


@pytest.mark.parametrize("port", ["99999", "-1", "x", "²", ""])
@pytest.mark.parametrize("option", ["--port", "--kafka-port", "--registry-port", "--connect-port"])
def test_a_port_that_is_none(option: str, port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["dev", f"{option}={port}"])
    assert f"argument {option}: {port} is not a port: it is a number from 0 to 65535" in capsys.readouterr().err


def test_a_file_of_statements_that_cannot_be_read_is_named_before_anything_starts(tmp_path: Path) -> None:
    """Not after the wait for a broker, which is away here."""
    file = tmp_path / "absent.sql"
    settings = {"listeners": "http://127.0.0.1:0", "bootstrap.servers": "127.0.0.1:1", "ksql.queries.file": str(file)}
    with (
        pytest.raises(SetupError, match=f"{file}: the file cannot be read: No such file or directory"),
        serving(settings),
    ):
        pass
