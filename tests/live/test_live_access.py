"""A Kafka that asks for a login over TLS, and whose ACLs give the server no more than docs/security.md says."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation, ResourceType  # type: ignore[attr-defined]

from millstream.engine.api import RequestFailed
from millstream.engine.bootstrap import EngineCannotStart, open_engine
from support.engine_process import EngineProcess, own_settings
from support.kafka import BrokerClient, wait_for
from support.secured_broker import Grant, SecuredBroker

pytestmark = [pytest.mark.live, pytest.mark.crash]
PAGE = Path(__file__).parents[2] / "docs" / "security.md"
KINDS = {"topic": ResourceType.TOPIC, "group": ResourceType.GROUP, "transactional-id": ResourceType.TRANSACTIONAL_ID}
ACL = re.compile(
    r"^\$ kafka-acls .*?(?P<operations>(?:--operation \w+ )+)--(?P<kind>[\w-]+) (?P<name>\S+)(?P<more>.*)$", re.M
)
ORDERS = Grant(ResourceType.TOPIC, "orders", [AclOperation.READ])
SINKS = Grant(ResourceType.TOPIC, "BIG", [AclOperation.ALL], prefix=True)


def documented() -> list[Grant]:
    """The ACLs of the page's commands."""
    grants = []
    for command in ACL.finditer(PAGE.read_text()):
        names = re.findall(r"--operation (\w+)", command["operations"])
        operations = [AclOperation[re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()] for name in names]
        grants.append(Grant(KINDS[command["kind"]], command["name"], operations, "prefixed" in command["more"]))
    return grants


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    broker = SecuredBroker(tmp_path_factory.mktemp("secured"))
    broker.start()
    yield broker
    broker.process.stop()


@pytest.fixture(scope="module")
def kafka(secured: SecuredBroker) -> BrokerClient:
    """A client that may do everything."""
    client = BrokerClient(secured.bootstrap)
    for topic in ("orders", "secret"):
        client.create_topic(topic)
    return client


@pytest.fixture(scope="module")
def settings(secured: SecuredBroker, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    own = own_settings("", "default_", tmp_path_factory.mktemp("data"), 16)
    return own | secured.settings("SCRAM-SHA-512", tls=True)


@pytest.fixture(scope="module")
def server(
    secured: SecuredBroker, kafka: BrokerClient, settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EngineProcess]:
    """A server with the rights of the page, and a stream of orders."""
    secured.grant(*documented())
    process = EngineProcess(settings, tmp_path_factory.mktemp("log") / "server.log")
    process.execute("CREATE STREAM orders (id STRING KEY, v INT) WITH (kafka_topic='orders', value_format='JSON');")
    yield process
    process.kill()


def refused(server: EngineProcess, statement: str) -> tuple[int, str]:
    """The code and the first line of a statement's error."""
    with pytest.raises(RequestFailed) as failure:
        server.execute(statement)
    return failure.value.code, failure.value.message.partition("\n")[0]


def errors(server: EngineProcess, query: str) -> list[tuple[str, str]]:
    """Type and message of what has failed in a query."""
    described = server.execute("SHOW QUERIES EXTENDED;")[0]["queryDescriptions"]
    own = next(description for description in described if description["id"] == query)
    return [(error["type"], error["errorMessage"]) for error in own["queryErrors"]]


def test_a_server_without_rights_does_not_start(secured: SecuredBroker, settings: dict[str, str]) -> None:
    denied = r"topic _millstream-default__command_topic cannot be created: .*\n  hint: docs/security.md"
    with pytest.raises(EngineCannotStart, match=denied):
        open_engine(settings)


def test_what_the_server_has_no_right_to_is_refused_at_once(server: EngineProcess) -> None:
    declared = "(id STRING KEY, v INT) WITH (kafka_topic='{}', value_format='JSON', partitions=1)"
    cases = {
        f"CREATE STREAM s {declared.format('secret')};": "Authorization denied to Read on topic(s): [secret]",
        f"CREATE STREAM s {declared.format('absent')};": "Authorization denied to Read on topic(s): [absent]",
        "CREATE STREAM other AS SELECT * FROM orders;": "Authorization denied to Write on topic(s): [OTHER]",
        "INSERT INTO orders (id, v) VALUES ('a', 1);": "Authorization denied to Write on topic(s): [orders]",
        "DROP STREAM orders DELETE TOPIC;": "Authorization denied to Delete on topic(s): [orders]",
    }
    assert {statement: refused(server, statement) for statement in cases} == {s: (40301, e) for s, e in cases.items()}
    with pytest.raises(RequestFailed, match=r"Authorization denied to Read on topic\(s\): \[secret\]"):
        server.lines("PRINT secret FROM BEGINNING LIMIT 1;")
    assert "secret" not in str(server.execute("SHOW TOPICS;"))


def test_queries_with_the_rights_of_the_page(server: EngineProcess, kafka: BrokerClient) -> None:
    """A filter, a count with each guarantee; push and pull queries, rows of a client, PRINT, DELETE TOPIC."""
    once = {"processing.guarantee": "exactly_once_v2", "commit.interval.ms": "500"}
    server.execute("CREATE STREAM big AS SELECT * FROM orders WHERE v > 1;")
    server.execute("CREATE TABLE big_n AS SELECT id, COUNT(*) AS n FROM orders GROUP BY id;")
    server.execute("CREATE TABLE big_once AS SELECT id, COUNT(*) AS n FROM orders GROUP BY id;", **once)
    for n in range(4):
        kafka.produce("orders", "k", {"v": n})
    for table in ("BIG_N", "BIG_ONCE"):
        wait_for(lambda t=table: server.rows(f"SELECT n FROM {t} WHERE id = 'k';", 1) == [[4]], f"the rows of {table}")  # type: ignore[misc]
    first = {"auto.offset.reset": "earliest"}
    assert server.rows("SELECT v FROM big EMIT CHANGES;", 2, **first) == [[2], [3]]
    assert server.rows("SELECT id, SUM(v) FROM big GROUP BY id EMIT CHANGES;", 1, **first)[-1] in (["k", 2], ["k", 5])
    server.execute("INSERT INTO big (id, v) VALUES ('x', 7);")
    wait_for(lambda: kafka.ends("BIG") == 3, "the client's row")
    assert "key: k" in server.lines("PRINT orders FROM BEGINNING LIMIT 1;")[-1]
    server.execute("CREATE STREAM big_gone AS SELECT * FROM big; DROP STREAM big_gone DELETE TOPIC;")
    assert server.health()["isHealthy"]


def count_if_allowed(server: EngineProcess) -> list[list[object]]:
    """The count of k; none while the broker has not yet heard of a right that was granted."""
    try:
        return server.rows("SELECT n FROM big_once WHERE id = 'k';", 1)
    except RequestFailed as refusal:
        if "uthorization failed" not in str(refusal):
            raise
        return []


def test_a_right_that_is_taken_back(secured: SecuredBroker, server: EngineProcess, kafka: BrokerClient) -> None:
    """The queries fail and say why, and go on where they were when it is granted again."""
    names = {q["sinks"][0]: q["id"] for q in server.execute("SHOW QUERIES;")[0]["queries"]}
    secured.revoke(ORDERS)
    wait_for(lambda: server.state(names["BIG_ONCE"]) == "ERROR", "the query may not read")
    for n in range(6):
        kafka.produce("orders", "k", {"v": n})
    denied = ("USER", "Authorization denied to Describe on topic(s): [orders]")
    wait_for(lambda: denied in errors(server, names["BIG_ONCE"]), "the reason")
    with pytest.raises(RequestFailed, match=r"Authorization denied to Read on topic\(s\): \[orders\]"):
        server.rows("SELECT * FROM orders EMIT CHANGES;", 1)
    secured.grant(ORDERS)
    wait_for(lambda: count_if_allowed(server) == [[10]], "the query goes on")
    secured.revoke(SINKS)
    kafka.produce("orders", "k", {"v": 9})
    wait_for(lambda: server.state(names["BIG"]) == "ERROR", "the query may not write")
    wait_for(lambda: any("uthoriz" in why for _, why in errors(server, names["BIG"])), "the reason")
    secured.grant(SINKS)
    wait_for(lambda: count_if_allowed(server) == [[11]], "it goes on, too")
    wait_for(lambda: b'{"V":9}' in [r.value for r in kafka.consume_all("BIG", kafka.ends("BIG"))], "nothing is lost")
