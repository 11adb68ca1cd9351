"""Kafka's settings of a login and of TLS, as ksqlDB's configurations have them, for both client libraries."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AclOperation, ResourceType  # type: ignore[attr-defined]
from pyspark.sql import SparkSession

from millstream.cli import checks
from millstream.cli.checks import CheckContext
from millstream.engine.kafka import KafkaClient
from millstream.model.settings import checked, effective
from millstream.services.kafka_errors import reason
from millstream.spark import sink
from millstream.spark.bounded import Record
from support.secured_broker import OAUTH, USER, Grant, SecuredBroker
from support.token_endpoint import token_endpoint

EVERYTHING = [
    Grant(ResourceType.TOPIC, "t-", [AclOperation.ALL], prefix=True),
    Grant(ResourceType.GROUP, "_millstream-", [AclOperation.READ], prefix=True),
]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    broker = SecuredBroker(tmp_path_factory.mktemp("secured"))
    broker.start()
    for user in (USER, "CN=client"):
        broker.grant(*EVERYTHING, user=user)
    yield broker
    broker.process.stop()


def written_and_read(client: KafkaClient, spark: SparkSession, topic: str) -> list[bytes | None]:
    """The values that this process, and Spark's JVM, have written to a new topic."""
    assert client.create(topic, 1)
    client.writer.write(topic, b"k", b"by librdkafka")
    sink.put(spark, topic, Record(b"k", b"by Java", 1), client.java)
    with client.reader() as reader:
        reader.assign([TopicPartition(topic, 0, 0)])
        return [message.value() for message in reader.consume(2, 30)]


BOTH = [b"by librdkafka", b"by Java"]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("tls", [False, True])
def test_a_login(secured: SecuredBroker, spark: SparkSession, mechanism: str, tls: bool) -> None:
    client = KafkaClient(secured.settings(mechanism, tls=tls))
    assert written_and_read(client, spark, f"t-{mechanism}-{tls}") == BOTH


@pytest.mark.parametrize("kind", ["jks", "p12", "pem"])
def test_a_certificate(secured: SecuredBroker, spark: SparkSession, kind: str) -> None:
    client = KafkaClient(secured.certificates(kind))
    assert written_and_read(client, spark, f"t-{kind}") == BOTH


def test_certificates_in_the_settings(secured: SecuredBroker, spark: SparkSession) -> None:
    files = secured.certificates("pem") | {"ssl.keystore.type": "PEM", "ssl.truststore.type": "PEM"}
    own = Path(files.pop("ssl.keystore.location")).read_text()
    key, _, chain = own.partition("-----END PRIVATE KEY-----\n")
    texts = {
        "ssl.truststore.certificates": Path(files.pop("ssl.truststore.location")).read_text(),
        "ssl.keystore.certificate.chain": chain,
        "ssl.keystore.key": f"{key}-----END PRIVATE KEY-----\n",
    }
    assert written_and_read(KafkaClient(files | texts), spark, "t-texts") == BOTH


@pytest.mark.parametrize("package", [OAUTH, f"{OAUTH}.secured"])
def test_a_token_from_an_endpoint(secured: SecuredBroker, spark: SparkSession, package: str) -> None:
    with token_endpoint(USER, "client", "shh") as (url, forms):
        client = KafkaClient(secured.token(url, "client", "shh", package))
        assert written_and_read(client, spark, f"t-{package}") == BOTH
    assert {frozenset(form.items()) for form in forms} == {
        frozenset({"grant_type": "client_credentials", "scope": "kafka"}.items())
    }


def test_the_doctor_tries_the_login_and_the_rights(secured: SecuredBroker) -> None:
    def check_context(properties: dict[str, str]) -> CheckContext:
        return CheckContext(effective(checked(properties)))

    login = secured.settings("SCRAM-SHA-512")
    assert checks.broker(check_context(login)).outcome is checks.CheckOutcome.PASSED
    denied = checks.clock(check_context(login))
    assert (denied.outcome, "cannot be created: Authorization failed" in denied.fact) == (
        checks.CheckOutcome.FAILED,
        True,
    )
    wrong = check_context(login | {"sasl.jaas.config": "no"})
    assert checks.broker(wrong).fact.startswith("sasl.jaas.config cannot be read")
    assert checks.clock(wrong).outcome is checks.CheckOutcome.NOT_CHECKED


def test_why_a_login_fails(secured: SecuredBroker) -> None:
    unknown = secured.settings("PLAIN", tls=True)
    unknown.pop("ssl.truststore.location")
    untrusted = secured.certificates("pem")
    untrusted.pop("ssl.keystore.location")
    cases = [
        (secured.settings("SCRAM-SHA-512", "wrong"), "Authentication failed during authentication due to invalid cred"),
        (secured.settings("PLAIN", "wrong", tls=True), "Authentication failed: Invalid username or password"),
        (unknown, "certificate verify failed"),
        (untrusted, "alert"),
    ]
    with ThreadPoolExecutor() as together:
        reasons = [*together.map(why_none_answers, [settings for settings, _ in cases])]
    assert [why for (_, why), said in zip(cases, reasons, strict=True) if why not in said] == [], reasons
    assert not any("(after" in said for said in reasons)


def why_none_answers(settings: dict[str, str]) -> str:
    """Why a client with these settings reaches no broker."""
    with pytest.raises(KafkaException) as refused:
        KafkaClient(settings).cluster()
    return reason(refused.value)
