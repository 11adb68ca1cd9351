"""The functions of docs/python-functions.md do what the page says: `-- CALL → answer`, `-- NAME of values → answer`."""

import re
from pathlib import Path

from pyspark.sql import SparkSession

from functions.calling import answers
from millstream.analysis.scope import NameScope
from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts
from millstream.functions.python import library
from millstream.model.settings import effective
from millstream.plan.functions import functions_in_file
from millstream.plan.statements import outcome
from millstream.spark.bounded import Bounded
from millstream.syntax import tree
from millstream.syntax.parser import split
from millstream.tester.cases import CaseRecord, ConformanceCase
from millstream.tester.check import shown
from millstream.tester.play import plan, run

PAGE = (Path(__file__).parents[2] / "docs" / "python-functions.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"^-- ([A-Z]+\(.*) → (.*)$", re.MULTILINE)
OF_ROWS = re.compile(r"^-- (\w+) of (.*) → (.*)$", re.MULTILINE)
FIRST = PAGE.index("## Changing and dropping")


def texts() -> list[str]:
    """The page's CREATE FUNCTIONs, up to the section about replacing them."""
    blocks = re.findall(r"^```sql\n(.*?)^```", PAGE[:FIRST], re.DOTALL | re.MULTILINE)
    parsed = (p for block in blocks for p in split(block))
    return [p.text for p in parsed if isinstance(p.statement, tree.CreateFunction)]


def test_calls_give_their_answers(spark: SparkSession) -> None:
    catalog = Catalog()
    for text in texts():
        (parsed,) = split(text)
        catalog = outcome(parsed.statement, text, catalog, Facts(), effective({}, {})).catalog
    examples = EXAMPLE.findall(PAGE)
    computed = answers([call for call, _ in examples], spark, NameScope(functions=library(catalog.functions)))
    assert {call: a.text for (call, _), a in zip(examples, computed, strict=True)} == dict(examples)
    assert len(examples) >= 7


def test_aggregates_give_their_answers(spark: SparkSession) -> None:
    ((name, values, answer),) = OF_ROWS.findall(PAGE)
    declare = "CREATE STREAM s (id INT KEY, x DOUBLE) WITH (kafka_topic='s', value_format='JSON');"
    statements = (*texts(), declare, f"CREATE TABLE o AS SELECT id, {name}(x) AS r FROM s GROUP BY id;")
    inputs = tuple(CaseRecord("s", 1, {"X": float(v)}, 0) for v in values.split(","))
    case = ConformanceCase("", "", "", statements, {}, (), inputs, (), {}, None)
    played = plan(case, effective({}, {}), Bounded(spark))
    run(case, played, Bounded(spark))
    last = max(played.records["O"], key=lambda placed: placed.order)
    assert str(float(shown(last, played.catalog.sources["O"], played).value["R"])) == answer


def test_the_file_declares_what_the_page_says() -> None:
    (file,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert [f.name for f in functions_in_file(file, "ext/own.py")] == ["REPEATED", "CRC", "PRODUCT"]
