"""Data file: what a server does with the names of a file of properties that ksqlDB had."""

from pathlib import Path

import pytest

from millstream.model.ksqldb_names import REFUSED, has_no_effect
from millstream.model.setting_table import SETTINGS
from millstream.model.settings import SettingRefused, canonical, check_session, check_system, checked

LINES = [line.split() for line in Path(__file__).with_name("ksqldb_properties.txt").read_text().splitlines()]
CASES = [(line[0], line[1]) for line in LINES if line[0] != "#"]


def taken(name: str) -> str:
    """Whether a server takes a property with its default value, and uses it."""
    setting = SETTINGS.get(canonical(name))
    try:
        settings = checked({name: setting.default if setting else "x"})
    except SettingRefused:
        return "refused"
    return "yes" if canonical(name) in settings else "no"


@pytest.mark.parametrize(("name", "effect"), CASES)
def test_a_server_takes_ksqldbs_own_properties(name: str, effect: str) -> None:
    assert taken(name) == effect


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_name_says_what_to_do_instead(name: str) -> None:
    with pytest.raises(SettingRefused) as refused:
        checked({name: "x"})
    fact, hint = refused.value.fact_and_hint
    assert name in fact
    assert hint == REFUSED[name]


@pytest.mark.parametrize(
    "name",
    [
        *("ksql.streams.producer.acks", "producer.max.block.ms", "ksql.streams.consumer.fetch.min.bytes", "poll.ms"),
        *("acks", "session.timeout.ms", "ksql.streams.max.poll.interval.ms", "ksql.functions.formula.base.value"),
    ],
)
def test_a_session_may_set_what_has_no_effect(name: str) -> None:
    """Clients that were written for ksqlDB send such properties with each statement; they were refused."""
    assert check_session(name, "1", {}).doc == "accepted, without effect"
    with pytest.raises(SettingRefused, match="it has no effect"):
        check_system(name, "1")


@pytest.mark.parametrize("name", ["producer.sasl.jaas.config", "ksql.streams.consumer.ssl.keystore.password"])
def test_a_session_has_no_login_of_its_own(name: str) -> None:
    with pytest.raises(SettingRefused, match="Cannot override property"):
        check_session(name, "x", {})


@pytest.mark.parametrize(
    "name", ["ksql.stream.producer.acks", "produce.acks", "ksql.functions.collect_lst.limit", *REFUSED]
)
def test_slips_are_refused(name: str) -> None:
    with pytest.raises(SettingRefused, match="Not recognizable"):
        check_session(name, "1", {})


def test_no_setting_is_named_as_one_without_effect() -> None:
    assert not [name for name in SETTINGS if has_no_effect(name.removeprefix("ksql.streams."))]
