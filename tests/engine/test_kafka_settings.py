"""Settings of Kafka's clients, in Kafka's words and in librdkafka's."""

from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from millstream.engine.kafka import KafkaClient
from millstream.engine.kafka_settings import RECOVERY, java_settings, librdkafka_settings, login_options
from millstream.model.settings import SettingRefused, checked
from support.certificates import Authority

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.mark.parametrize(
    ("jaas", "options"),
    [
        (f'{PLAIN} required username="etl" password="a b";', {"username": "etl", "password": "a b"}),
        (f"{PLAIN} required username=etl password='x;y' ;", {"username": "etl", "password": "x;y"}),
        (f'{PLAIN}\n required\n username = "etl"\n password="a\\"b\\\\c";', {"username": "etl", "password": 'a"b\\c'}),
        (f"{PLAIN} required;", {}),
    ],
)
def test_a_login_module(jaas: str, options: dict[str, str]) -> None:
    assert login_options(jaas) == options


@pytest.mark.parametrize(
    "jaas", ["", PLAIN, f'{PLAIN} required username="etl"', f'{PLAIN} required a="b', f"{PLAIN} x y;"]
)
def test_what_is_no_login_module_is_refused_without_what_it_contains(jaas: str) -> None:
    with pytest.raises(SettingRefused, match=r"sasl\.jaas\.config cannot be read") as refused:
        login_options(jaas)
    assert "etl" not in str(refused.value)


LOGIN = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "bootstrap.servers": "k:1"}


@pytest.mark.parametrize(
    ("changed", "fact"),
    [
        ({}, "security.protocol=SASL_SSL needs sasl.jaas.config"),
        ({"sasl.jaas.config": f'{PLAIN} required username="x";'}, "sasl.jaas.config has no password"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "/nowhere"}, "no TLS to Kafka: .*nowhere"),
        (
            {"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": f"{PLAIN} required;"},
            r"OAUTHBEARER needs sasl\.oauthbearer\.token\.endpoint\.url",
        ),
        ({"security.protocol": "NONE"}, "a setting of Kafka's clients is wrong: .*security.protocol"),
        (
            {"sasl.mechanism": "GSSAPI", "sasl.jaas.config": f"{PLAIN} required;"},
            "No provider for SASL mechanism GSSAPI",
        ),
    ],
)
def test_settings_that_are_refused(changed: dict[str, str], fact: str) -> None:
    with pytest.raises(SettingRefused, match=fact):
        KafkaClient(LOGIN | changed)


def test_each_of_kafkas_names_is_known_or_left_out(spark: SparkSession) -> None:
    """None of the names of Kafka's own clients makes librdkafka refuse the configuration."""
    names = spark._jvm.org.apache.kafka.clients.consumer.ConsumerConfig.configNames()  # type: ignore[union-attr]
    of_login = [n for n in names if n.startswith(("ssl.", "sasl.", "security.")) and n not in LOGIN]
    assert len(of_login) > 40
    login = LOGIN | {"sasl.jaas.config": f'{PLAIN} required username="x" password="y";'}
    files = ("ssl.truststore.location", "ssl.keystore.location", "ssl.truststore.certificates", "ssl.keystore.key")
    for name in of_login:
        value = "https" if name == "ssl.endpoint.identification.algorithm" else "1"
        if name in login or name in files:
            continue
        try:
            AdminClient(librdkafka_settings(login | {name: value}))
        except KafkaException as refused:
            pytest.fail(f"{name}: {refused}")


def test_a_key_with_a_password_of_its_own(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    own = authority.protected("own key")
    for kind, settings in own.items():
        native = librdkafka_settings({"security.protocol": "SSL", "bootstrap.servers": "k:1", **settings})
        assert native["ssl.key.pem"].startswith("-----BEGIN PRIVATE KEY-----"), kind
        assert native["ssl.certificate.pem"].count("BEGIN CERTIFICATE") == 2, kind
        with pytest.raises(SettingRefused, match="no TLS to Kafka"):
            librdkafka_settings({"security.protocol": "SSL", **settings, "ssl.key.password": "wrong"})


def test_a_store_whose_name_no_file_can_have() -> None:
    settings = LOGIN | {"security.protocol": "SSL", "ssl.keystore.location": "a\0b"}
    assert "ssl.keystore.type" not in java_settings(settings)
    with pytest.raises(SettingRefused, match="no TLS to Kafka: embedded null byte"):
        librdkafka_settings(settings)


def test_no_name_of_the_host_is_checked_where_kafka_says_so() -> None:
    settings = {"bootstrap.servers": "k:1", "ssl.endpoint.identification.algorithm": ""}
    assert librdkafka_settings(settings)["ssl.endpoint.identification.algorithm"] == "none"


def test_the_prefix_of_kafka_streams_is_optional() -> None:
    server = checked({"bootstrap.servers": "k:1", "ksql.streams.security.protocol": "SSL", "security.protocol": "X"})
    assert java_settings(server) == {"bootstrap.servers": "k:1", **RECOVERY, "security.protocol": "SSL"}
