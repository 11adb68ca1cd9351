"""pytest plugin: `pytest --millstream` collects SQL test files and case files (docs/testing.md).

pytest loads it in every environment in which millstream is installed, so without the option it imports nothing else of
millstream.
"""

import pytest

COLLECTION = "millstream.tester.collection"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare --millstream and --millstream-exact-messages."""
    group = parser.getgroup("millstream")
    group.addoption("--millstream", action="store_true", help="collect SQL test files (--@test: …) and case files")
    help = "--@expected.message must be in the error word by word"
    group.addoption("--millstream-exact-messages", action="store_true", help=help)


def pytest_configure(config: pytest.Config) -> None:
    """Load the plugin that collects and plays cases, if --millstream is given."""
    if config.getoption("--millstream"):
        config.pluginmanager.import_plugin(COLLECTION)
