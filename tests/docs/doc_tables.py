"""The tables of docs/ that the code writes: `python tests/docs/doc_tables.py` puts them into the pages."""

import re
from collections.abc import Sequence
from pathlib import Path

import security_table

from millstream.formats.base import Format
from millstream.formats.registry import FORMATS
from millstream.model.setting import Setting, SettingScope
from millstream.model.setting_table import SETTINGS

DOCS = Path(__file__).parents[2] / "docs"
PLACE = re.compile(r"(<!-- table: \S+ .*? -->\n).*?(<!-- end -->)", re.DOTALL)
SCOPES = {
    SettingScope.OWN: "Of millstream",
    SettingScope.KSQL: "Of ksqlDB",
    SettingScope.STREAMS: "Of Kafka and Kafka Streams",
}


def formats() -> str:
    """What each format can do."""
    rows = [_format(f) for f in FORMATS.values()]
    return table(
        ("Format", "Key", "Value", "One column bare", "Wrapped", "Columns from a registry", "Properties"), rows
    )


def settings() -> str:
    """All settings, a table for each scope."""
    return "\n".join(f"### {title}\n\n{_settings(scope)}" for scope, title in SCOPES.items())


def rights() -> str:
    """Which role may carry out which statement."""
    head, *rows = security_table.rows()
    return table(head, [tuple(cell.replace("|", "\\|") for cell in row) for row in rows])


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A markdown table."""
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *rows))


def written(page: str) -> str:
    """The text of a page with its tables as they should be."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return PLACE.sub(lambda match: f"{match[1]}\n{PAGES[page]()}\n{match[2]}", text)


def _format(f: Format) -> tuple[str, ...]:
    name = f.name
    value = f.value and f.refusal("VALUE", ()) is None and f.name != "NONE"
    yes = (f.key, value, f.unwraps, f.wraps, f.infers)
    return (name, *("yes" if one else "" for one in yes), ", ".join(p.upper() for p in sorted(f.properties)))


def _settings(scope: SettingScope) -> str:
    return table(
        ("Setting", "Default", "Valid", "Set by", "While it runs", "Meaning"),
        [_setting(s) for s in SETTINGS.values() if s.scope is scope],
    )


def _setting(s: Setting) -> tuple[str, ...]:
    default = f"`{s.default}`" if s.default else ""
    by, runs = "session" if s.editable else "server", "ALTER SYSTEM" if s.alterable else ""
    return (f"`{s.name}`", default, s.valid.words, by, runs, s.doc.replace("|", "\\|"))


PAGES = {"formats.md": formats, "operations.md": settings, "security.md": rights}

if __name__ == "__main__":
    for page in PAGES:
        (DOCS / page).write_text(written(page), encoding="utf-8")
