"""The examples of docs/python-client.md do what the page says."""

import doctest
from pathlib import Path

import pytest

from millstream.server.run import Server

PAGE = Path(__file__).parents[2] / "docs" / "python-client.md"


def test_the_examples_of_the_page(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGE.read_text(encoding="utf-8").replace("localhost:8088", f"127.0.0.1:{server.port}")
    examples = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    results = doctest.DocTestRunner().run(examples)
    assert results.attempted >= 18
    assert results.failed == 0, capsys.readouterr().out
