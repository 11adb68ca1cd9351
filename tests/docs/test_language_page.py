"""The statements of docs/language.md can be planned, one after the other, behind those of docs/getting-started.md."""

import re
from pathlib import Path

from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts
from millstream.plan.queries import plan_transient
from millstream.plan.statements import outcome
from millstream.syntax import tree
from millstream.syntax.parser import Parsed, split
from support.statements import SETTINGS, catalog_of

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```sql\n(.*?)^```", re.DOTALL | re.MULTILINE)
# What the page's examples take from its other pages.
OTHERS = "CREATE TABLE cities (city STRING PRIMARY KEY) WITH (kafka_topic='cities', partitions=1, value_format='JSON');"
VARIABLES = {"city": "Oslo"}
PLANNED = (
    *(tree.CreateSource, tree.CreateAs, tree.CreateType, tree.CreateIndex, tree.CreateView, tree.CreateFunction),
    *(tree.AlterSource, tree.AlterQuery, tree.AlterSystem, tree.ControlQuery, tree.InsertInto),
    *(tree.Drop, tree.DropType, tree.DropIndex),
)


def statements(page: str) -> list[Parsed]:
    """The statements of a page's examples."""
    blocks = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    return [parsed for block in blocks for parsed in split(block, variables=lambda: VARIABLES)]


def after(parsed: Parsed, catalog: Catalog) -> Catalog:
    """The catalog after a statement. Raises StatementError."""
    match parsed.statement:
        case tree.QueryStatement() as query:
            plan_transient(query, catalog, SETTINGS)
        case tree.Explain(statement=tree.QueryStatement() as query):
            plan_transient(query, catalog, SETTINGS)
        case statement if isinstance(statement, PLANNED):
            return outcome(statement, parsed.text, catalog, Facts(), SETTINGS).catalog
    return catalog


def test_the_statements_can_be_planned() -> None:
    catalog = catalog_of(OTHERS, Facts())
    for parsed in statements("getting-started.md"):
        catalog = after(parsed, catalog) if isinstance(parsed.statement, PLANNED) else catalog
    for parsed in statements("language.md"):
        catalog = after(parsed, catalog)
    assert {"BIG", "PAIRS", "ONCE", "TRACED"} <= catalog.sources.keys()
