"""`make setup` installs what the project requires."""

import re
import tomllib
from pathlib import Path

HOME = Path(__file__).parents[2]
NAME = re.compile(r"^[A-Za-z0-9._-]+")


def asked() -> set[str]:
    project = tomllib.loads((HOME / "pyproject.toml").read_text())
    expected = project["project"]["dependencies"] + project["dependency-groups"]["dev"]
    return {NAME.findall(requirement)[0].lower().replace("_", "-") for requirement in expected}


def test_the_lock_has_what_the_project_asks_for() -> None:
    locked = set(re.findall(r"^([a-z0-9._-]+)==", (HOME / "requirements.lock").read_text(), re.MULTILINE))
    assert asked() <= locked, "run `make lock`"


def test_the_lock_names_no_host() -> None:
    assert "://" not in (HOME / "requirements.lock").read_text()
