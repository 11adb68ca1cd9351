"""pytest finds SQL test files and case files where it is asked to: `pytest --millstream` (docs/testing.md).

It is loaded into every run of pytest where millstream is installed, so it loads nothing of millstream's before that.
"""

import pytest

COLLECTION = "millstream.tester.collection"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("millstream")
    group.addoption("--millstream", action="store_true", help="collect SQL test files (--@test: …) and case files")
    help = "--@expected.message must be in the error word by word"
    group.addoption("--millstream-exact-messages", action="store_true", help=help)


def pytest_configure(config: pytest.Config) -> None:
    """Load what collects and plays the cases, where it is asked for."""
    if config.getoption("--millstream"):
        config.pluginmanager.import_plugin(COLLECTION)
