"""Task slots run out before Spark says so."""

import pytest

from engine.test_state import QUERY, SOURCE, after
from millstream.engine.slots import check_slots
from millstream.model.errors import StatementError

SETTINGS = {"millstream.slots": "8"}


def test_free_slots_are_available() -> None:
    check_slots(after(SOURCE, QUERY), push_slots=2, needed=3, settings=SETTINGS)


def test_more_is_refused_with_numbers() -> None:
    with pytest.raises(StatementError, match=r"needs 4 task slots.* 3 of 8 are free"):
        check_slots(after(SOURCE, QUERY), push_slots=2, needed=4, settings=SETTINGS)
