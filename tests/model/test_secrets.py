"""What of settings, addresses and statements others may see."""

from pathlib import Path

import pytest

from millstream.analysis import properties
from millstream.engine.api import RequestFailed
from millstream.model.secrets import HIDDEN, is_secret, masked, shown, without_values
from millstream.model.setting_table import SETTINGS
from support import golden


def test_passwords_in_statements() -> None:
    golden.check(Path(__file__).with_name("statements_with_secrets.txt"), masked)


def test_an_error_has_the_statement_without_its_password() -> None:
    assert "hush" not in RequestFailed(40001, "no", "SET 'ssl.key.password'='hush';").statement


@pytest.mark.parametrize(
    "name",
    [
        "ssl.key.password",
        "ssl.keystore.key",
        "sasl.jaas.config",
        "kafka.sasl.password",
        "sasl.oauthbearer.client.secret",
        "ksql.schema.registry.basic.auth.user.info",
        "spark.hadoop.fs.azure.account.key.shop.dfs.core.windows.net",
        "spark.hadoop.fs.s3a.encryption.key",
        "fs.gs.auth.service.account.private.key",
        "snowflake.private.key.passphrase",
        "connection.pass",
        "accountKey",
        "db_pwd",
    ],
)
def test_secret_settings(name: str) -> None:
    assert shown(name, "hush") == HIDDEN
    assert shown(name, "") == ""


@pytest.mark.parametrize(
    "name",
    [
        "linger.ms",
        "ksql.schema.registry.basic.auth.credentials.source",
        "ssl.keystore.location",
        "pass.through.headers",
        "primary.key",
        "message.key.columns",
        "bypass",
    ],
)
def test_other_settings(name: str) -> None:
    assert shown(name, "seen") == "seen"


@pytest.mark.parametrize("name", SETTINGS)
def test_the_table_and_the_rule_agree(name: str) -> None:
    assert SETTINGS[name].secret is is_secret(name)


@pytest.mark.parametrize("name", sorted({*properties.DECLARED, *properties.CREATE_AS, *properties.INSERTED}))
def test_no_property_of_with_clauses_is_masked(name: str) -> None:
    """Or a statement would mean something else in the log."""
    text = f"CREATE STREAM s WITH ({name}='x') AS SELECT 1;"
    assert masked(text) == text


def test_addresses_and_messages() -> None:
    assert shown("ksql.schema.registry.url", "http://u:hush@host:8081,x") == f"http://{HIDDEN}@host:8081,x"
    url = "jdbc:db://host/a?user=u&password={}&ssl=true"
    assert shown("connection.url", url.format("hush")) == url.format(HIDDEN)
    settings = {"ssl.key.password": "hush", "linger.ms": "5", "sasl.password": ""}
    assert without_values("cannot read it with hush at 5", settings) == f"cannot read it with {HIDDEN} at 5"


@pytest.mark.parametrize(
    "part",
    [
        "x",
        "password",
        "://",
        "with(",
        "with (a=",
        "set '",
        "'",
        "(",
        "password=",
        "a://b@",
        "?password=",
        "with('?pwd=",
    ],
)
def test_long_texts_take_no_longer_than_their_length(part: str) -> None:
    """A search with backtracking would take too long here."""
    text = part * (1_000_000 // len(part))
    assert masked(text)
    assert shown("a", text)
