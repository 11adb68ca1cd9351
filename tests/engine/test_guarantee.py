"""Where exactly-once is refused, and which values the guarantee takes."""

import pytest

from millstream.model.settings import SettingRefused, check, effective
from millstream.spark import transactions

ONCE = effective({"processing.guarantee": "EXACTLY_ONCE_V2"})


@pytest.mark.parametrize("master", ["", "local[4]"])
def test_exactly_once_needs_tasks_in_the_servers_process(master: str) -> None:
    assert transactions.refusal(ONCE, master) == ""


@pytest.mark.parametrize("master", ["spark://a:7077", "local-cluster[2,1,1024]", "k8s://https://a:6443"])
def test_exactly_once_is_refused_on_a_cluster(master: str) -> None:
    assert f"millstream.spark.master is {master}" in transactions.refusal(ONCE, master)
    assert transactions.refusal(effective({}), master) == ""


@pytest.mark.parametrize("value", ["exactly_once", "exactly_once_beta", "at_most_once", ""])
def test_other_guarantees_are_refused_with_those_that_there_are(value: str) -> None:
    with pytest.raises(SettingRefused, match="at_least_once, or exactly_once_v2"):
        check("processing.guarantee", value)


def test_commits_are_not_too_close_together() -> None:
    assert transactions.interval(effective({"commit.interval.ms": "250"})) == 250
    assert transactions.interval(effective({"commit.interval.ms": "0"})) == 100
