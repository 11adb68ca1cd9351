"""The groups of tests that begin first are those of modules that exist: a renamed one would begin late, unnoticed."""

from pathlib import Path

from support.longest_groups import LONGEST

TESTS = Path(__file__).parents[1]


def test_the_longest_groups_have_modules() -> None:
    modules = {path.stem for path in TESTS.rglob("test_*.py")}
    named = {group.split()[-1] for group in LONGEST if " " in group}
    assert named
    assert not named - modules
