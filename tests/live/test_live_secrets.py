"""Passwords of a server's settings are not seen in the arguments and the environment of what it starts."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

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


def descendants(pid: int) -> Iterator[Path]:
    """The folders in /proc of the processes that a process has started, and of those that these have."""
    for folder in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            # Behind the name, which may have blanks and brackets in it, come the state and the parent.
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                yield folder
                yield from descendants(int(folder.name))


def test_no_process_shows_a_password(begin: Begin, kafka: BrokerClient) -> None:
    server = begin(**SECRETS)
    server.execute(
        "CREATE FUNCTION twice(a INT) RETURNS INT LANGUAGE PYTHON AS $$ 2 * a $$;"
        "CREATE STREAM numbers (id INT KEY, a INT) WITH (kafka_topic='hush', format='JSON', partitions=1);"
        "CREATE STREAM doubled AS SELECT id, twice(a) AS a FROM numbers EMIT CHANGES;"
    )
    kafka.produce("hush", "1", {"A": 21}, 0)
    wait_for(lambda: [r.json for r in kafka.consume_all("DOUBLED", 1)] == [{"A": 42}], "a row")
    shown = {folder: (folder / "cmdline").read_bytes() for folder in descendants(server.pid)}
    for name in (b"org.apache.spark.deploy.SparkSubmit", b"millstream.udf"):
        assert any(name in command for command in shown.values())
    for folder, command in shown.items():
        assert b"hush-" not in command
        assert b"hush-" not in (folder / "environ").read_bytes()
