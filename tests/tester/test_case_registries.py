"""The tester's registries: each case has its own."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from millstream.catalog.schemas import SchemaText
from millstream.tester import registry


@pytest.fixture
def frequent_switches() -> Iterator[None]:
    """Python gives another thread its turn after each few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("frequent_switches")
def test_cases_that_run_side_by_side_have_registries_of_their_own() -> None:
    with ThreadPoolExecutor(8) as threads:
        cases = list(threads.map(lambda _: registry.schemas(), range(20_000)))
    assert len({case.url for case in cases}) == len(cases)
    for case in cases:
        case.register("s", SchemaText("AVRO", "string"))
        name = case.url.rsplit("/", 1)[1]
        assert registry._server().cases[name] is case
