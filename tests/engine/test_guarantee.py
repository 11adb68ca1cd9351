"""Which values the guarantee takes."""

import pytest

from millstream.model.settings import SettingRefused, check, effective
from millstream.spark import transactions

ONCE = effective({"processing.guarantee": "EXACTLY_ONCE_V2"})


def test_the_name_of_the_guarantee_is_case_insensitive() -> None:
    assert transactions.is_exactly_once(ONCE)
    assert not transactions.is_exactly_once(effective({}))


@pytest.mark.parametrize("value", ["exactly_once", "exactly_once_beta", "at_most_once", ""])
def test_other_guarantees_are_refused_with_those_that_there_are(value: str) -> None:
    with pytest.raises(SettingRefused, match="at_least_once, or exactly_once_v2"):
        check("processing.guarantee", value)


def test_commits_are_not_too_close_together() -> None:
    assert transactions.interval(effective({"commit.interval.ms": "250"})) == 250
    assert transactions.interval(effective({"commit.interval.ms": "0"})) == 100
