"""A user of each role tries each statement: allowed or 403, as the table in docs/security.md says."""

from collections.abc import Iterator

import httpx
import pytest
import security_table

from millstream.catalog.catalog import Catalog
from millstream.engine.api import Request, RequestFailed
from millstream.engine.execute import execute
from millstream.security.rights import NEEDED, Right, needs
from millstream.security.roles import ROLES
from millstream.server.options import options_of
from millstream.server.run import Server
from millstream.syntax import tree
from millstream.syntax.parser import parse_one
from support.engine import FakeEngine
from support.logins import PASSWORD, ParsingEngine, login_settings
from support.patience import PATIENCE

STATEMENTS = security_table.STATEMENTS
OWN_ROLES = """
[team]
rights = ["read", "write"]
sources = ["ORDERS.*"]
topics = ["orders.*", "ORDERS.*"]
"""


@pytest.fixture(scope="module")
def engine() -> FakeEngine:
    return ParsingEngine()


@pytest.fixture(scope="module")
def url(engine: FakeEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("logins")
    users = {**{role: [role] for role in ROLES}, "both": ["read", "functions"], "teamster": ["team"]}
    settings = {
        **login_settings(folder, users, OWN_ROLES),
        "authentication.skip.paths": "/clusterStatus,/status/*",
    }
    with Server(engine, port=0, options=options_of(settings)) as server:
        yield server.url


def post(url: str, user: str, path: str, **body: object) -> httpx.Response:
    return httpx.post(url + path, json=body, auth=(user, PASSWORD), timeout=PATIENCE)


@pytest.mark.parametrize("role", ROLES)
def test_a_user_of_a_role_tries_each_statement(url: str, role: str) -> None:
    with httpx.Client(base_url=url, auth=(role, PASSWORD), timeout=PATIENCE) as client:
        answers = {text: client.post("/ksql", json={"ksql": text}) for text in STATEMENTS}
    statuses = {text: answer.status_code for text, answer in answers.items()}
    assert statuses == {text: 200 if security_table.is_allowed(role, text) else 403 for text in STATEMENTS}
    refused = [answer.json()["message"] for answer in answers.values() if answer.status_code == 403]
    assert all(f"user {role} lacks the right" in message for message in refused)


def test_every_class_of_statement_is_tried() -> None:
    concrete = {kind for kind in vars(tree).values() if isinstance(kind, type) and issubclass(kind, tree.Statement)}
    assert set(NEEDED) == concrete - {tree.Statement}
    assert {type(parse_one(statement)) for statement in STATEMENTS} == set(NEEDED)


@pytest.mark.parametrize(
    ("statement", "missing"),
    [
        ("SELECT * FROM orders EMIT CHANGES;", ""),
        ("SELECT * FROM secrets EMIT CHANGES;", "read on source SECRETS and topic secret_topic"),
        ("SELECT * FROM orders o JOIN secrets s WITHIN 1 HOUR ON o.id = s.id EMIT CHANGES;", "read on source SECRETS"),
        ("PRINT orders_old;", ""),
        ("PRINT secret_topic;", "read on topic secret_topic"),
        ("ASSERT TOPIC secret_topic;", "read on topic secret_topic"),
        ("EXPLAIN SELECT * FROM secrets EMIT CHANGES;", "read on source SECRETS"),
        ("EXPLAIN CREATE STREAM x AS SELECT * FROM secrets;", "read on source X"),
        ("DESCRIBE secrets;", "read on source SECRETS"),
        ("DESCRIBE STREAMS;", "read on source SECRETS"),
        ("SHOW STREAMS EXTENDED;", "read on source SECRETS"),
        ("SHOW STREAMS;", ""),
        ("INSERT INTO orders (id) VALUES (1);", ""),
        ("INSERT INTO secrets (id) VALUES (1);", "write on source SECRETS"),
        ("INSERT INTO orders SELECT * FROM secrets;", "read on source SECRETS"),
        ("DROP STREAM secrets DELETE TOPIC;", "write on source SECRETS and topic secret_topic"),
        ("CREATE STREAM orders_new (id INT) WITH (kafka_topic='orders_new', value_format='JSON', partitions=1);", ""),
        (
            "CREATE STREAM orders_new (id INT) WITH (kafka_topic='secret_topic', value_format='JSON');",
            "write on source ORDERS_NEW and topic secret_topic",
        ),
        ("CREATE STREAM mine AS SELECT * FROM orders;", "write on source MINE and topic MINE"),
        ("CREATE STREAM orders_big AS SELECT * FROM orders;", ""),
        ("CREATE STREAM orders_big WITH (kafka_topic='secret') AS SELECT * FROM orders;", "topic secret"),
        ("SHOW STREAMS; CREATE STREAM orders_x AS SELECT * FROM secrets;", "read on source SECRETS"),
        ("CREATE STREAM orders_x AS SELECT * FROM ${source};", "read on source SECRETS"),
        ("CREATE FUNCTION f(a INT) RETURNS INT LANGUAGE PYTHON AS $$ f = lambda a: a $$;", "functions"),
        ("TERMINATE ALL;", ""),
    ],
)
def test_a_role_of_ones_own_holds_for_its_sources_and_topics(url: str, statement: str, missing: str) -> None:
    answer = post(url, "teamster", "/ksql", ksql=statement, sessionVariables={"source": "secrets"})
    assert answer.status_code == (403 if missing else 200)
    assert (
        not missing or f"lacks the right {missing}" in answer.json()["message"] or missing in answer.json()["message"]
    )


def test_roles_add_up(url: str) -> None:
    create = "CREATE FUNCTION f(a INT) RETURNS INT LANGUAGE PYTHON AS $$ f = lambda a: a $$;"
    assert post(url, "both", "/ksql", ksql=create + "SHOW STREAMS;").status_code == 200
    assert post(url, "both", "/ksql", ksql="DROP FUNCTION f; DROP STREAM orders;").status_code == 403


@pytest.mark.parametrize(
    ("path", "body", "allowed"),
    [
        ("/ksql/terminate", {"deleteTopicList": []}, {"admin"}),
        ("/query", {"ksql": "SELECT * FROM orders;"}, set(ROLES)),
        ("/query", {"ksql": "SELECT * FROM secrets;"}, set(ROLES)),
        ("/query-stream", {"sql": "SELECT * FROM orders;"}, set(ROLES)),
        ("/query-stream", {"sql": "PRINT orders;"}, set(ROLES)),
        ("/inserts-stream", {"target": "ORDERS"}, {"write", "admin"}),
        ("/heartbeat", {"hostInfo": {"host": "b", "port": 1}, "timestamp": 1}, {"admin"}),
        (
            "/lag",
            {"ksqlHost": {"host": "b", "port": 1}, "hostStoreLags": {"stateStoreLags": {}, "updateTimeMs": 1}},
            {"admin"},
        ),
    ],
)
def test_other_paths(url: str, path: str, body: dict[str, object], allowed: set[str]) -> None:
    assert {role for role in ROLES if post(url, role, path, **body).status_code == 200} == allowed


def test_a_push_query_is_closed_by_its_user_or_one_who_may_write(url: str, engine: FakeEngine) -> None:
    text = {"sql": "SELECT * FROM orders EMIT CHANGES;"}
    for closer, status in (("teamster", 200), ("both", 403), ("write", 200), ("read", 200)):
        with httpx.stream(
            "POST", f"{url}/query-stream", json=text, auth=("read", PASSWORD), timeout=PATIENCE
        ) as answer:
            lines = answer.iter_lines()
            assert next(lines)
            query_id = list(engine.queries)[-1]
            assert post(url, closer, "/close-query", queryId=query_id).status_code == status


def test_the_engine_checks_rights_before_it_executes() -> None:
    """The first statement is refused by the engine itself, which has no part that could carry anything out."""

    class Nothing:
        server: dict[str, str] = {}
        state = ParsingEngine()

    statements = []

    def missing(statement: tree.Statement, _: object) -> str:
        statements.append(type(statement))
        return "lacks the right" if isinstance(statement, tree.Drop) else ""

    request = Request("SET 'auto.offset.reset'='latest'; DROP STREAM orders; SHOW STREAMS;", missing_right=missing)
    with pytest.raises(RequestFailed) as refused:
        execute(request, Nothing())  # type: ignore[arg-type]
    assert (refused.value.code, refused.value.statement) == (40300, "DROP STREAM orders;")
    assert statements == [tree.SetProperty, tree.Drop]
    assert Right.ADMIN in ROLES["admin"].rights


def test_a_rebuild_needs_the_right_to_write_its_own_source_and_topic() -> None:
    statement = parse_one("CREATE OR REPLACE TABLE t WITH (rebuild=true) AS SELECT a, COUNT(*) AS n FROM u GROUP BY a;")
    written = {(need.source, need.topic) for need in needs(statement, Catalog(next_query=7), "out_") if need.source}
    assert written >= {("T", "out_T"), ("T_7", "out_T_7")}


def test_every_table_of_inner_queries_needs_the_right_to_read() -> None:
    """A name of WITH hides a table of that name, but not inside of its own query."""
    statement = parse_one(
        "WITH t AS (SELECT * FROM t) SELECT * FROM t JOIN (SELECT a FROM u UNION SELECT b FROM v) q ON q.a = t.a;"
    )
    assert [need.source for need in needs(statement, Catalog()) if need.right is Right.READ] == [None, "T", "U", "V"]
