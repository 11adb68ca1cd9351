"""REST cases through a real server, broker and registry: a fixed sample; rest.toml lists it and the known gaps."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.cli.stack import Wish, running
from millstream.model.settings import effective
from millstream.tester import rest
from millstream.tester.cases import Case, load
from millstream.tester.rest import Site
from millstream.tester.stage import KEEPING
from support.shared import shared

pytestmark = pytest.mark.live
LEDGER = tomllib.loads((Path(__file__).parent / "rest.toml").read_text())
GAPS = {id for ids in LEDGER["gaps"].values() for id in ids}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    wish = Wish(tmp_path_factory.mktemp("rest"), 0, 0, 0, settings=rest.SETTINGS, kafka=KEEPING)
    with running(wish, lambda name, where: None) as stack:
        yield rest.site(stack.url, stack.bootstrap, stack.registry)


@pytest.fixture(scope="module")
def cases() -> dict[str, Case]:
    return {case.id: case for case in load([shared("conformance", "rest")])}


def test_the_sample_passes(cases: dict[str, Case], site: Site) -> None:
    played = [cases[id] for id in LEDGER["played"]]
    broken = [f"{v.case.title}\n  {v.reason}" for v in rest.run_cases(played, site, effective({}, {})) if not v.passed]
    assert not broken, "\n".join(broken)


def test_the_ledger_names_cases(cases: dict[str, Case]) -> None:
    assert not {*LEDGER["played"], *GAPS} - cases.keys()
    assert not GAPS & set(LEDGER["played"])
