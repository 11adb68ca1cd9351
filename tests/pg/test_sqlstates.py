"""Data file: the SQLSTATE of each kind of statement that the engine refuses."""

import tomllib
from pathlib import Path

import pytest

from millstream.catalog.facts import Facts, TopicFacts
from millstream.model.errors import StatementError
from millstream.model.settings import effective
from millstream.pg.failures import pg_error
from millstream.plan.deletes import deleted_keys
from millstream.plan.inserts import row
from millstream.plan.queries import plan_transient
from millstream.syntax import parser, tree
from support.statements import catalog_of, last_outcome

CASES = tomllib.loads(Path(__file__).with_name("sqlstates.toml").read_text())
FACTS = Facts({"orders": TopicFacts(1), "people": TopicFacts(1)})
CATALOG = catalog_of(
    """
    CREATE STREAM orders (id INT KEY, amount INT) WITH (kafka_topic='orders', value_format='JSON');
    CREATE TABLE people (name STRING PRIMARY KEY, age INT) WITH (kafka_topic='people', value_format='JSON');
    """,
    FACTS,
)
SETTINGS = effective({})


def plan(text: str) -> None:
    """Plan a statement, after those before it in the text. Raises StatementError."""
    *_, parsed = parser.split(text)
    match parsed.statement:
        case tree.InsertValues():
            row(parsed.statement, CATALOG, SETTINGS)
        case tree.DeleteFrom():
            deleted_keys(parsed.statement, CATALOG, SETTINGS)
        case tree.QueryStatement():
            plan_transient(parsed.statement, CATALOG, SETTINGS)
        case _:
            last_outcome(text, FACTS, CATALOG)


@pytest.mark.parametrize(("text", "state"), CASES.items())
def test_the_sqlstate_of_a_statement_that_is_refused(text: str, state: str) -> None:
    with pytest.raises(StatementError) as refused:
        plan(text)
    assert pg_error(refused.value).state == state, refused.value
