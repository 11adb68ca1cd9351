"""Task slots: each partition that a query reads takes one for as long as the query runs (docs/operations.md#slots)."""

from collections.abc import Mapping

from millstream.engine.state import EngineState
from millstream.model.errors import StatementError

SLOTS = "millstream.slots"


def check_slots(state: EngineState, push_slots: int, needed: int, settings: Mapping[str, str]) -> None:
    """Raises StatementError if fewer than `needed` slots are free; push queries take `push_slots`."""
    total = int(settings[SLOTS])
    free = total - state.slots - push_slots
    if needed > free:
        raise StatementError(
            f"the query needs {needed} task slot{'s' * (needed != 1)}, one for each partition that it reads, "
            f"and {max(free, 0)} of {total} are free",
            hint=f"TERMINATE or PAUSE a query, or start the server with a greater {SLOTS}",
        )
