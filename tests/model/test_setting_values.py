"""Data file: the valid values of each kind of setting, their stored form, and the messages for others."""

import ast
from pathlib import Path

import pytest

from millstream.formats.registry import FORMATS
from millstream.model.setting_table import SETTINGS
from millstream.model.settings import SettingRefused, check, checked
from support import golden


def answer(case: str) -> str:
    """The result of `name = value`, where the value is a Python literal."""
    name, _, value = case.partition(" = ")
    try:
        typed = ast.literal_eval(value)
        return repr(check(name, typed).stored(typed))
    except SettingRefused as refused:
        return str(refused)


def test_what_settings_take() -> None:
    golden.check(Path(__file__).with_name("settings.txt"), answer)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_default_is_valid_and_in_its_stored_form(name: str) -> None:
    setting = SETTINGS[name]
    assert setting.valid.read(setting.default) == setting.default


def test_formats_are_those_that_there_are() -> None:
    words = SETTINGS["ksql.persistence.default.format.value"].valid.words
    assert all(name in words for name in FORMATS)


def test_a_secret_that_is_refused_is_not_shown() -> None:
    with pytest.raises(SettingRefused) as refused:
        check("ksql.schema.registry.ssl.key.password", "a\0b")
    assert "a\0b" not in str(refused.value)


def test_settings_of_kafkas_clients_are_for_kafka_to_check() -> None:
    client = {"ssl.anything": "x", "kafka.linger.ms": "²"}
    assert checked({**client, "linger.ms": " 7"}) == {**client, "linger.ms": "7"}
