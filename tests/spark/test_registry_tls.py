"""A schema registry behind TLS that requires a client certificate: both of our clients, with stores of every kind."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from millstream.catalog.catalog import Serde
from millstream.catalog.schemas import PhysicalSchema, SchemaText
from millstream.formats.client import Access, Registry, RegistryFailed
from millstream.formats.spec import spec
from millstream.model.schema import Column
from millstream.model.types import INTEGER
from millstream.services.errors import SetupError
from millstream.spark.codec import RecordCodec
from millstream.spark.session_settings import REGISTRY
from millstream.tester import registry
from support.certificates import Authority
from support.registry_proxy import USER, RegistryProxy, registry_proxy

COLUMNS = (Column("A", INTEGER),)
INT = SchemaText("AVRO", '"int"')


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("stores"))


@pytest.fixture
def door(authority: Authority) -> Iterator[RegistryProxy]:
    """A registry that has the schema 1."""
    known = registry.schemas()
    known.register("t-value", INT)
    with registry_proxy(known.url, authority.server) as proxy:
        yield proxy


@pytest.mark.parametrize("kind", ["pem", "jks", "p12"])
def test_stores_of_every_kind(spark: SparkSession, authority: Authority, door: RegistryProxy, kind: str) -> None:
    settings = {**authority.settings(kind), "basic.auth.user.info": USER}
    client = Registry(Access(door.url, settings))
    schema = client.by_id(1)
    client.close()
    assert schema is not None
    assert schema.schema == INT
    conf = spark.sparkContext._jsc.sc().conf()
    for name, value in settings.items():
        conf.set(f"{REGISTRY}{name}", value)
    try:
        one = RecordCodec(spark, spec(Serde("AVRO", False, schema=PhysicalSchema(door.url, "", INT)), COLUMNS), COLUMNS)
        assert one.decode(b"\0\0\0\0\1\x0e") == {"A": 7}
    finally:
        for name in settings:
            conf.remove(f"{REGISTRY}{name}")


def test_a_client_without_a_login_is_refused(authority: Authority, door: RegistryProxy) -> None:
    trust = "ssl.truststore.location"
    for settings in ({}, {trust: authority.settings("jks")[trust]}):
        with pytest.raises((RegistryFailed, SetupError)):
            Registry(Access(door.url, settings)).by_id(1)


@pytest.mark.parametrize("kind", ["jks", "p12"])
def test_a_wrong_password_is_reported(authority: Authority, kind: str) -> None:
    with pytest.raises(SetupError, match="no TLS to the schema registry"):
        Registry(Access("https://127.0.0.1:1", {**authority.settings(kind), "ssl.truststore.password": "no"}))
