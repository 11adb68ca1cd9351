"""Statements and queries planned for tests, without a broker: their catalog, their outcome, their plan."""

from collections.abc import Mapping

from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts
from millstream.model.settings import effective
from millstream.plan.pull_queries import PullPlan, plan_pull
from millstream.plan.queries import TransientQuery, plan_transient
from millstream.plan.statements import outcome
from millstream.plan.steps import Outcome
from millstream.syntax import parser, tree

SETTINGS = effective({})


def last_outcome(
    text: str, facts: Facts, catalog: Catalog | None = None, settings: Mapping[str, str] = SETTINGS
) -> Outcome:
    """The outcome of the last of some statements, each after those before it. Raises StatementError."""
    result = Outcome(catalog or Catalog(), (), "", "")
    for parsed in parser.split(text):
        result = outcome(parsed.statement, parsed.text, result.catalog, facts, settings)
    return result


def catalog_of(text: str, facts: Facts, settings: Mapping[str, str] = SETTINGS) -> Catalog:
    """The catalog after some statements. Raises StatementError."""
    return last_outcome(text, facts, None, settings).catalog


def transient_query(text: str, catalog: Catalog, settings: Mapping[str, str] = SETTINGS) -> TransientQuery:
    """The only SELECT of a text, planned for a client. Raises StatementError."""
    return plan_transient(_select(text), catalog, settings)


def pull_plan(text: str, catalog: Catalog, settings: Mapping[str, str] = SETTINGS) -> PullPlan:
    """The only SELECT of a text, planned as a pull query on a table. Raises StatementError."""
    query = transient_query(text, catalog, settings)
    return plan_pull(query, settings, _select(text).span, catalog.indexes_of(query.sources[0].name))


def _select(text: str) -> tree.QueryStatement:
    (parsed,) = parser.split(text)
    assert isinstance(parsed.statement, tree.QueryStatement)
    return parsed.statement
