"""Passwords of a server's settings are not seen in the arguments and the environment of what it starts."""

from collections.abc import Callable, Iterator
from contextlib import suppress

import psutil
import pytest

from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for

pytestmark = pytest.mark.live
Begin = Callable[..., EngineProcess]
SECRETS = {
    "ksql.schema.registry.url": "http://bob:hush-url@127.0.0.1:1",
    "ksql.schema.registry.basic.auth.user.info": "ann:hush-registry",
    "ksql.schema.registry.ssl.key.password": "hush-key",
    "spark.hadoop.fs.s3a.secret.key": "hush-spark",
    "ssl.key.password": "hush-kafka",
    "sasl.password": "hush-sasl",
}


def arguments_and_environments(pid: int) -> Iterator[str]:
    """Those of a process's descendants as text; one that ends while it is looked at is left out: it shows nothing."""
    for process in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            yield " ".join([*process.cmdline(), *map("=".join, process.environ().items())])


def test_no_process_shows_a_password(begin: Begin, kafka: BrokerClient) -> None:
    server = begin(**SECRETS)
    server.execute(
        "CREATE FUNCTION twice(a INT) RETURNS INT LANGUAGE PYTHON AS $$ 2 * a $$;"
        "CREATE STREAM numbers (id INT KEY, a INT) WITH (kafka_topic='hush', format='JSON', partitions=1);"
        "CREATE STREAM doubled AS SELECT id, twice(a) AS a FROM numbers EMIT CHANGES;"
    )
    kafka.produce("hush", "1", {"A": 21}, 0)
    wait_for(lambda: [r.json for r in kafka.consume_all("DOUBLED", 1)] == [{"A": 42}], "a row")
    shown = list(arguments_and_environments(server.pid))
    for name in ("org.apache.spark.deploy.SparkSubmit", "millstream.udf"):
        assert any(name in text and "PATH=" in text for text in shown)
    assert not [text for text in shown if "hush-" in text]
