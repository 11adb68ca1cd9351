"""Data files: the outcomes of statements on a small catalog, and the messages for those that are refused."""

from pathlib import Path

import pytest

from millstream.analysis.typed_expressions import Constant
from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts, TopicFacts
from millstream.model.errors import StatementError
from millstream.model.settings import effective
from millstream.plan.deletes import deleted_keys
from millstream.plan.existing_topics import check_existing_topic
from millstream.plan.explain import explain
from millstream.plan.inserts import row
from millstream.plan.nodes import NamedExpression
from millstream.plan.persistent import explained_replacement
from millstream.plan.planning import PlanningContext
from millstream.plan.queries import plan_transient
from millstream.plan.replacement import Replacement, replacement_text
from millstream.plan.statements import check_drop, outcome
from millstream.plan.steps import CreateTopic, Outcome, StartQuery
from millstream.plan.views import with_view_queries
from millstream.syntax import parser, tree
from support import golden
from support.statements import catalog_of, last_outcome

TEXTS = Path(__file__).parent / "texts"
FACTS = Facts({"orders": TopicFacts(2, 1, 86_400_000), "people": TopicFacts(2), "ones": TopicFacts(1)})
SETTINGS = effective({}, {})
SOURCES = """
CREATE STREAM orders (id BIGINT KEY, item STRING, amount INT, price DECIMAL(6, 2), tags ARRAY<STRING>,
  place STRUCT<city STRING, zip INT>, placed TIMESTAMP) WITH (kafka_topic='orders', value_format='JSON');
CREATE TABLE people (name STRING PRIMARY KEY, age INT) WITH (kafka_topic='people', value_format='DELIMITED');
CREATE STREAM pairs (a INT KEY, b INT KEY, v STRING) WITH (kafka_topic='pairs', partitions=2, format='JSON');
CREATE STREAM wide (id BIGINT KEY, amount DECIMAL(12, 2), price DECIMAL(9, 3), one DECIMAL(3, 1))
  WITH (kafka_topic='wide', partitions=1, value_format='JSON');
CREATE STREAM narrow (id BIGINT KEY, amount DECIMAL(4, 2)) WITH (kafka_topic='n', partitions=1, value_format='JSON');
CREATE STREAM late_key (v INT, k STRING KEY) WITH (kafka_topic='late', partitions=1, value_format='JSON');
CREATE SOURCE STREAM given (k STRING KEY, v INT) WITH (kafka_topic='orders', value_format='JSON');
"""


KNOWN = catalog_of(SOURCES, FACTS)


def test_outcomes_of_statements() -> None:
    golden.check(TEXTS / "outcomes.sql", _described)


def test_what_is_refused_and_why() -> None:
    golden.check(TEXTS / "refused.sql", _described)


def test_forms_of_other_dialects_are_refused_with_what_is_written_here() -> None:
    """Mistakes of users of Flink SQL, Spark SQL, Postgres and others."""
    golden.check(TEXTS / "dialects.sql", _described)


def test_distinct_in_aggregates_of_queries_that_keep_running() -> None:
    golden.check(TEXTS / "distinct_aggregates.sql", _described)


def test_aggregates_with_over() -> None:
    golden.check(TEXTS / "over.sql", _described)


def test_inner_queries_and_unions_of_queries_that_keep_running() -> None:
    golden.check(TEXTS / "inner_queries.sql", _described)


def test_views() -> None:
    golden.check(TEXTS / "views.sql", _described)


def test_views_expand_to_so_many_queries_at_most() -> None:
    """Each reads the one before twice."""
    known = "CREATE TABLE known AS SELECT item AS name, COUNT(*) AS n FROM orders GROUP BY item;"
    first = "CREATE VIEW v0 AS SELECT name FROM known;"
    join = "CREATE VIEW v{} AS SELECT a.name AS name FROM v{} a JOIN v{} b ON a.name = b.name;"
    views = "".join(join.format(n + 1, n, n) for n in range(6))
    with pytest.raises(StatementError, match="the views that it reads expand to more than 100 queries"):
        last_outcome(f"{known} {first} {views}", FACTS, KNOWN)


def test_a_window_size_of_any_number_of_digits_is_refused() -> None:
    properties = f"kafka_topic='orders', value_format='JSON', window_type='TUMBLING', window_size='{'1' * 5000} DAYS'"
    with pytest.raises(StatementError, match="Invalid duration"):
        last_outcome(f"CREATE STREAM w (k STRING KEY, v INT) WITH ({properties});", FACTS)


def test_the_fields_of_a_large_constructor_are_not_unfolded() -> None:
    """Each of them would be computed from all of them."""
    fields = ", ".join(f"f{n} := amount + {n}" for n in range(500))
    with pytest.raises(StatementError, match=r"line 1:\d+: ->\* repeats its struct for each field, to more than 20000"):
        last_outcome(f"CREATE STREAM wider AS SELECT id, STRUCT({fields})->* FROM orders;", FACTS, KNOWN)


@pytest.mark.parametrize(
    ("statement", "replicas"),
    [
        ("CREATE STREAM s (v INT) WITH (kafka_topic='new', value_format='JSON', partitions=1);", -1),
        ("CREATE STREAM s (v INT) WITH (kafka_topic='new', value_format='JSON', partitions=1, replicas=-1);", -1),
        ("CREATE STREAM s (v INT) WITH (kafka_topic='new', value_format='JSON', partitions=1, replicas=2);", 2),
        ("CREATE STREAM s AS SELECT * FROM given;", 3),
        ("CREATE STREAM s WITH (replicas='-1') AS SELECT * FROM given;", -1),
    ],
)
def test_a_new_topic_has_the_brokers_default_of_replicas_or_those_of_its_source(statement: str, replicas: int) -> None:
    facts = Facts({**FACTS.topics, "orders": TopicFacts(2, 3)})
    created = [step for step in last_outcome(statement, facts, KNOWN).steps if isinstance(step, CreateTopic)]
    assert [step.replicas for step in created] == [replicas]


def test_a_dry_run_changes_nothing() -> None:
    before = KNOWN
    last_outcome("CREATE STREAM other AS SELECT * FROM orders; DROP TABLE people;", FACTS, KNOWN)
    assert before == catalog_of(SOURCES, FACTS)


def _described(text: str) -> str:
    """What the statements of a case come to, each after those before it."""
    answers, catalog = [], KNOWN
    try:
        for parsed in parser.split(text):
            answer, catalog = _answer(parsed, catalog)
            answers.append(answer)
    except StatementError as error:
        answers.append(str(error))
    return "\n".join(answers)


def _answer(parsed: parser.Parsed, catalog: Catalog) -> tuple[str, Catalog]:
    match parsed.statement:
        case tree.QueryStatement() as query:
            return explain(plan_transient(query, catalog, SETTINGS).plan), catalog
        case tree.InsertValues() as insert:
            step = row(insert, catalog, SETTINGS)
            return f"{step.sink.name}: {', '.join(map(_inserted, (*step.keys, *step.values)))}", catalog
        case tree.DeleteFrom() as delete:
            deleted = deleted_keys(delete, catalog, SETTINGS)
            lookups = (" × ".join(str(len(values)) for values in lookup.keys) for lookup in deleted.lookups)
            return f"{deleted.sink.name}: keys {' + '.join(lookups)}", catalog
        case statement:
            check_drop(statement, catalog)
            after = outcome(statement, parsed.text, catalog, FACTS, SETTINGS)
            check_existing_topic(statement, after, catalog, FACTS, SETTINGS)
            return _outcome(after, catalog), after.catalog


def _inserted(column: NamedExpression) -> str:
    constant = column.expression if isinstance(column.expression, Constant) else None
    return column.name if constant is None or constant.value is None else f"{column.name} = {constant.value}"


def _outcome(after: Outcome, before: Catalog) -> str:
    plans = [explain(step.plan) for step in after.steps if isinstance(step, StartQuery)]
    sources = [f"{s.name} ({s.schema})" for n, s in after.catalog.sources.items() if before.sources.get(n) != s]
    return "\n".join([after.message, *(step.sentence for step in after.steps), *sources, *plans])


def test_what_a_replacement_keeps_and_changes() -> None:
    """A replacement that needs a rebuild is refused by the statement itself, with the first of its reasons."""
    golden.check(TEXTS / "replacements.sql", _replacement)


def _replacement(text: str) -> str:
    """The effect of the last statement of a case on what the others have created."""
    *before, last = parser.split(text)
    catalog = KNOWN
    for parsed in before:
        catalog = outcome(parsed.statement, parsed.text, catalog, FACTS, SETTINGS).catalog
    statement = with_view_queries(last.statement, catalog)
    assert isinstance(statement, tree.CreateAs)
    context = PlanningContext(last.text, catalog, FACTS, SETTINGS)
    explained = explained_replacement(statement, context)
    assert explained is not None
    effect, _ = explained
    return "\n".join([replacement_text(effect), *_refusal(last, catalog, effect)])


def test_a_replacement_says_which_settings_change() -> None:
    (created, replaced) = parser.split(
        "CREATE STREAM a AS SELECT id, item FROM orders; CREATE OR REPLACE STREAM a AS SELECT id, item FROM orders;"
    )
    catalog = outcome(created.statement, created.text, KNOWN, FACTS, SETTINGS).catalog
    settings = {**SETTINGS, "processing.guarantee": "exactly_once_v2"}
    assert isinstance(replaced.statement, tree.CreateAs)
    explained = explained_replacement(replaced.statement, PlanningContext(replaced.text, catalog, FACTS, settings))
    assert explained is not None
    changed = [part.sentence for part in explained[0].changes]
    assert changed == ["setting processing.guarantee: at_least_once → exactly_once_v2"]


def _refusal(parsed: parser.Parsed, catalog: Catalog, effect: Replacement) -> list[str]:
    """The error of the statement where it is not possible in place."""
    if effect.in_place:
        outcome(parsed.statement, parsed.text, catalog, FACTS, SETTINGS)
        return []
    with pytest.raises(StatementError) as refused:
        outcome(parsed.statement, parsed.text, catalog, FACTS, SETTINGS)
    return str(refused.value).splitlines()
