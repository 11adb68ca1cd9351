"""SET, UNSET, DEFINE and UNDEFINE, and which properties a session may set."""

from types import SimpleNamespace
from typing import Any

import pytest

from millstream.catalog.catalog import Catalog, View
from millstream.engine.api import Request, RequestFailed
from millstream.engine.entities import listings
from millstream.engine.execute import check_count, execute, parsed, statements
from millstream.engine.session import RequestSession
from millstream.model.errors import StatementError
from millstream.model.settings import SettingRefused, effective
from millstream.syntax.parser import parse_one

SERVER = effective({"ksql.streams.auto.offset.reset": "latest", "ksql.properties.overrides.denylist": "linger.ms"})


def session(**properties: object) -> RequestSession:
    return RequestSession(Request("", properties), SERVER)


def apply(request_session: RequestSession, text: str) -> bool:
    return request_session.apply(parse_one(text))


def test_a_session_overrides_the_server_until_unset() -> None:
    request_session = session()
    assert request_session.settings["auto.offset.reset"] == "latest"
    assert apply(request_session, "SET 'auto.offset.reset'='earliest';")
    assert request_session.settings["auto.offset.reset"] == "earliest"
    assert apply(request_session, "UNSET 'ksql.streams.auto.offset.reset';")
    assert request_session.settings["auto.offset.reset"] == "latest"


def test_a_setting_of_ksqldbs_without_effect_is_listed_until_unset() -> None:
    name = "ksql.streams.producer.acks"
    request_session = session(**{name: "all"})
    listed = listings.properties("", SERVER, frozenset(), request_session.properties)["properties"]
    assert [(p["value"], p["level"]) for p in listed if p["name"] == name] == [("all", "SESSION")]
    assert apply(request_session, f"UNSET '{name}';")
    assert name not in request_session.settings


def test_properties_of_kafka_streams_are_listed_with_their_prefix() -> None:
    properties = session(**{"auto.offset.reset": "earliest"}).properties
    listing = listings.properties("", SERVER, frozenset({"linger.ms"}), properties)
    listed = {p["name"]: (p["scope"], p["value"], p["level"]) for p in listing["properties"]}
    assert listed["ksql.streams.auto.offset.reset"] == ("KSQL", "earliest", "SESSION")
    assert "auto.offset.reset" not in listed
    assert listing["overwrittenProperties"] == ["ksql.streams.auto.offset.reset"]
    assert "ksql.streams.num.stream.threads" in listing["defaultProperties"]
    assert "ksql.streams.linger.ms" not in listing["defaultProperties"]


@pytest.mark.parametrize(("text", "count"), [("SELECT * FROM a; SELECT * FROM b;", 2), ("SET 'linger.ms'='1';", 0)])
def test_a_request_for_rows_has_one_statement(text: str, count: int) -> None:
    engine: Any = SimpleNamespace(server=effective({}), state=SimpleNamespace(catalog=Catalog()))
    with pytest.raises(RequestFailed, match=f"Expected exactly one KSQL statement; found {count} instead") as failure:
        parsed(text, Request(text), engine)
    assert (failure.value.code, failure.value.statement) == (40001, text)


def test_properties_of_a_request_are_sets() -> None:
    assert session(**{"ksql.streams.auto.offset.reset": "earliest"}).settings["auto.offset.reset"] == "earliest"
    assert (
        session(**{"ksql.query.pull.table.scan.enabled": False}).settings["ksql.query.pull.table.scan.enabled"]
        == "false"
    )


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("auto.offset.rest", "earliest", "auto.offset.reset"),
        ("auto.offset.reset", "soon", "not a valid value"),
        ("ksql.service.id", "x", "Cannot override"),
        ("linger.ms", "1", "Cannot override"),
        ("fetch.max.wait.ms", "²", "from 0 to 25000"),
        ("fetch.max.wait.ms", -1, "from 0 to 25000"),
        ("max.poll.records", {"a": 1}, "of property 'max.poll.records'"),
    ],
)
def test_what_cannot_be_set_is_refused_with_a_reason(name: str, value: str, why: str) -> None:
    with pytest.raises(RequestFailed, match=why) as refused:
        session(**{name: value})
    assert refused.value.code == 40000


def test_a_value_that_is_no_value_of_its_setting_is_refused_where_it_is_set() -> None:
    request_session = session()
    with pytest.raises(SettingRefused, match="one of none, gzip"):
        apply(request_session, "SET 'compression.type'='bogus';")
    assert apply(request_session, "SET 'compression.type'='LZ4';")
    assert request_session.properties == {"compression.type": "lz4"}


def test_variables_are_defined_and_undefined_without_case() -> None:
    request_session = session()
    assert apply(request_session, "DEFINE Where = 'here';")
    assert request_session.variables == {"WHERE": "here"}
    assert request_session.written_variables == {"Where": "here"}
    assert apply(request_session, "DEFINE where = 'there';")
    assert request_session.written_variables == {"where": "there"}
    assert apply(request_session, "UNDEFINE where;")
    assert request_session.variables == {}


def test_undefining_what_was_never_defined_is_a_warning_and_the_request_goes_on() -> None:
    engine: Any = SimpleNamespace(server=SERVER, state=SimpleNamespace(catalog=Catalog()))
    text = "DEFINE a = 'x'; UNDEFINE nope; UNDEFINE A; SHOW VARIABLES;"
    warning, shown = execute(Request(text), engine)
    assert (warning["@type"], warning["statementText"]) == ("warning_entity", "UNDEFINE nope;")
    assert warning["message"] == "Cannot undefine variable 'nope' which was never defined"
    assert shown["variables"] == []


def test_nothing_is_executed_if_a_statement_is_no_sql() -> None:
    """As in ksqlDB, which parses the whole request first; variables are those that are defined until then."""
    engine: Any = SimpleNamespace(server=SERVER, state=SimpleNamespace(catalog=Catalog()))
    text = "DEFINE a = 'x'; SHOW VARIABLES; PRINT ${a} LIMIT 1; CREATE STREM s;"
    with pytest.raises(RequestFailed, match="line 1:60: unexpected STREM") as failure:
        execute(Request(text), engine)
    assert (failure.value.code, failure.value.entities) == (40001, ())
    with pytest.raises(RequestFailed, match="nonsense") as failure:
        execute(Request("SHOW VARIABLES; SET 'nonsense'='1'; CREATE STREM s;"), engine)
    assert [entity["@type"] for entity in failure.value.entities] == ["variables"]


def test_other_statements_do_not_change_a_session() -> None:
    assert not apply(session(), "SHOW STREAMS;")


def test_variables_of_a_session_have_a_bound() -> None:
    """Each may be twice the one before: thirty of them would be more than any memory."""
    request_session = session()
    request_session.variables["X"] = "y" * 1_000_000
    with pytest.raises(SettingRefused, match="the variables of a session may have 1048576 characters together"):
        apply(request_session, f"DEFINE z = '{'y' * 50_000}';")
    apply(request_session, "DEFINE x = 'short';")
    apply(request_session, f"DEFINE z = '{'y' * 50_000}';")
    with pytest.raises(RequestFailed, match="the variables of a session"):
        RequestSession(Request("", {}, {"a": "y" * 600_000, "b": "y" * 600_000}), SERVER)


def test_a_request_has_a_bound_of_statements() -> None:
    """Answers are held until all of them are there: 80,000 SHOW FUNCTIONS would be gigabytes."""
    check_count("SHOW STREAMS;" * 1000, SERVER)
    check_count("SELECT '" + ";" * 2000 + "';", SERVER)
    with pytest.raises(StatementError, match="the request has 1001 statements, and may have 1000"):
        check_count("SHOW STREAMS;" * 1001, SERVER)


def test_the_queries_of_views_count_as_parts_of_a_statement() -> None:
    catalog = Catalog(views={"V": View("V", "CREATE VIEW v AS SELECT a + b + c + d AS e FROM s;")})
    engine: Any = SimpleNamespace(state=SimpleNamespace(catalog=catalog))
    settings = RequestSession(Request(""), {**SERVER, "millstream.statement.max.parts": "5"})
    assert len(list(statements("SELECT a + b + c FROM s;", settings, engine))) == 1
    with pytest.raises(StatementError, match="line 1:1: the statement has 7 parts, and may have 5"):
        list(statements("SELECT * FROM v;", settings, engine))


def test_a_statement_waits_for_the_one_before_it_to_be_executed() -> None:
    """A statement may be answered before it is executed (QUEUED); the next one may depend on it."""
    executed = 7
    follower: Any = SimpleNamespace(wait=lambda position, seconds: executed >= position)
    engine: Any = SimpleNamespace(follower=follower, state=SimpleNamespace(catalog=Catalog()))
    request_session = session()
    parsed = statements("SHOW TOPICS; SHOW QUERIES; SHOW STREAMS;", request_session, engine)
    assert next(parsed).text == "SHOW TOPICS;"
    request_session.sequence = 6
    assert next(parsed).text == "SHOW QUERIES;"
    request_session.sequence = 7
    with pytest.raises(RequestFailed) as refused:
        next(parsed)
    assert refused.value.code == 50301


def test_substitution_is_switched_by_the_statement_before() -> None:
    switch = "SET 'ksql.variable.substitution.enable'="
    text = f"PRINT '${{t}}'; {switch}'false'; PRINT '${{t}}'; {switch}'true'; PRINT '${{t}}';"
    engine: Any = SimpleNamespace(state=SimpleNamespace(catalog=Catalog()))
    request_session = RequestSession(Request("", {}, {"t": "orders"}), SERVER)
    printed = []
    for context in statements(text, request_session, engine):
        if not request_session.apply(context.statement):
            printed.append(context.text)
    assert printed == ["PRINT 'orders';", "PRINT '${t}';", "PRINT 'orders';"]
