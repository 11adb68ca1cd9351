"""docs/functions.md says what the declarations say."""

from pathlib import Path

from millstream.functions.document import ALL, reference

PAGE = Path(__file__).parents[2] / "docs" / "functions.md"


def test_the_reference_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(ALL)
