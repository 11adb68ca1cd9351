"""A server at https://: its key in files of every kind, HTTP/2 by ALPN, certificates of clients, the shell."""

import socket
import ssl
from pathlib import Path

import httpx
import pytest

from millstream.cli.client import ClientError, ClientTls, RestClient
from millstream.cli.service import engine_properties
from millstream.client.exchange import SessionSettings
from millstream.security.tls import KEYSTORE, server_context
from millstream.server import run
from millstream.server.options import options_of
from millstream.server.run import Server
from millstream.services.errors import SetupError
from millstream.services.named_files import file_version
from support.certificates import PASSWORD, Authority, server_files
from support.engine import FakeEngine
from support.kafka import wait_for
from support.patience import PATIENCE

HTTPS = {"listeners": "https://127.0.0.1:0"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


def trust(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(authority.folder / "trust.pem"))


@pytest.mark.parametrize("kind", ["pem", "jks", "p12"])
def test_a_key_in_a_file_of_each_kind(authority: Authority, kind: str) -> None:
    with Server(FakeEngine(), port=0, options=options_of({**HTTPS, **authority.settings(kind)})) as server:
        assert server.url.startswith("https://")
        url = f"https://127.0.0.1:{server.port}"
        for http2 in (False, True):
            with httpx.Client(verify=trust(authority), http2=http2) as client:
                answer = client.get(f"{url}/info")
                assert (answer.status_code, answer.http_version) == (200, "HTTP/2" if http2 else "HTTP/1.1")
        shell = RestClient(url, tls=ClientTls(authority.folder / "trust.pem"))
        assert shell.execute("SHOW STREAMS;", SessionSettings())
        with pytest.raises(
            ClientError, match=r"is not trusted \(.*CERTIFICATE_VERIFY_FAILED(?s:.*)hint: .*--cacert FILE"
        ):
            RestClient(url).info()


def test_the_wrong_scheme_is_named(authority: Authority) -> None:
    with Server(FakeEngine(), port=0) as server, pytest.raises(ClientError, match="does not speak TLS") as refused:
        RestClient(server.url.replace("http:", "https:")).info()
    assert refused.value.hint == f"try {server.url}"
    with Server(FakeEngine(), port=0, options=options_of({**HTTPS, **authority.settings("pem")})) as server:
        plain = server.url.replace("https:", "http:")
        with pytest.raises(ClientError, match=f"if it serves TLS, it is {server.url}"):
            RestClient(plain).info()


@pytest.mark.parametrize(("clients", "without"), [("NONE", True), ("REQUESTED", True), ("REQUIRED", False)])
def test_certificates_of_clients(authority: Authority, clients: str, without: bool) -> None:
    settings = {**HTTPS, **authority.settings("pem"), "ssl.client.authentication": clients}
    folder = authority.folder
    with Server(FakeEngine(), port=0, options=options_of(settings)) as server:
        url = f"https://127.0.0.1:{server.port}"
        assert RestClient(url, tls=ClientTls(folder / "trust.pem", folder / "own.pem")).info()
        for kind in ("pem", "jks", "p12"):
            assert RestClient(url, tls=ClientTls(settings=authority.settings(kind))).info()
        if without:
            assert RestClient(url, tls=ClientTls(folder / "trust.pem")).info()
        else:
            with pytest.raises(ClientError):
                RestClient(url, tls=ClientTls(folder / "trust.pem")).info()


@pytest.mark.parametrize(
    ("changed", "fact"),
    [
        ({"ssl.keystore.location": ""}, "needs ssl.keystore.location"),
        ({"ssl.keystore.location": "nowhere"}, "No such file"),
        ({"ssl.keystore.password": "wrong"}, "no TLS"),
        ({"ssl.client.authentication": "MAYBE"}, "is not NONE, REQUESTED, REQUIRED"),
        ({"ssl.client.authentication": "REQUIRED", "ssl.truststore.location": ""}, "needs ssl.truststore.location"),
    ],
)
def test_settings_of_tls_that_are_not_valid(authority: Authority, changed: dict[str, str], fact: str) -> None:
    with pytest.raises(SetupError, match=fact):
        server_context({**authority.settings("p12"), **changed})


def test_a_keystore_whose_name_no_file_can_have() -> None:
    assert file_version(Path("a\0b")) == (0, 0, 0)
    with pytest.raises(SetupError, match="no TLS: embedded null byte"):
        server_context({"ssl.keystore.location": "a\0b"})


def shown_by(server: Server) -> bytes:
    """The certificate that a new connection gets, as DER."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", server.port)) as plain, context.wrap_socket(plain) as connection:
        return connection.getpeercert(binary_form=True) or b""


def test_a_renewed_certificate_is_that_of_new_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Open connections go on; with a file that is not valid new ones get the last certificate that was."""
    monkeypatch.setattr(run, "WATCH_SECONDS", 0.02)
    (tmp_path / "new").mkdir()
    _, keystore = server_files(tmp_path)
    trust, renewed = server_files(tmp_path / "new")
    with Server(FakeEngine(), port=0, options=options_of({**HTTPS, KEYSTORE: str(keystore)})) as server:
        url, first = f"https://127.0.0.1:{server.port}/info", shown_by(server)
        with httpx.Client(verify=False) as before:
            before.get(url)
            keystore.write_text("no key")
            wait_for(lambda: "the renewed files of TLS are not used" in caplog.text, "the log", PATIENCE)
            assert shown_by(server) == first
            renewed.replace(keystore)
            wait_for(lambda: shown_by(server) != first, "the new certificate", PATIENCE)
            assert before.get(url).status_code == 200
        for http2 in (False, True):
            with httpx.Client(verify=ssl.create_default_context(cafile=str(trust)), http2=http2) as client:
                assert client.get(url).http_version == ("HTTP/2" if http2 else "HTTP/1.1")


def test_kafkas_clients_get_the_store_if_they_use_tls_too() -> None:
    store = {"ssl.keystore.location": "x", "ssl.client.authentication": "NONE", "bootstrap.servers": "k"}
    assert engine_properties(store, is_public=False) == {"bootstrap.servers": "k"}
    kafka = {**store, "security.protocol": "SASL_SSL"}
    assert engine_properties(kafka, is_public=False) == {
        n: v for n, v in kafka.items() if n != "ssl.client.authentication"
    }
    assert PASSWORD not in engine_properties({"ssl.keystore.password": PASSWORD}, is_public=False).values()


def test_a_certificate_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ClientError, match="no TLS with"):
        ClientTls(tmp_path / "nowhere.pem").context()
