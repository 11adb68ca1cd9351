"""`make setup` installs what the project requires."""

import re
import tomllib
from pathlib import Path

HOME = Path(__file__).parents[2]
NAME = re.compile(r"^[A-Za-z0-9._-]+")


def required() -> set[str]:
    project = tomllib.loads((HOME / "pyproject.toml").read_text())
    groups = project["dependency-groups"]
    included = [group["include-group"] for group in groups["dev"] if isinstance(group, dict)]
    expected = project["project"]["dependencies"] + groups["dev"] + [one for name in included for one in groups[name]]
    names = [NAME.findall(requirement)[0] for requirement in expected if isinstance(requirement, str)]
    return {name.lower().replace("_", "-") for name in names}


def test_the_lock_has_the_projects_dependencies() -> None:
    locked = set(re.findall(r"^([a-z0-9._-]+)==", (HOME / "requirements.lock").read_text(), re.MULTILINE))
    assert required() <= locked, "run `make lock`"


def test_the_lock_names_no_host() -> None:
    assert "://" not in (HOME / "requirements.lock").read_text()
