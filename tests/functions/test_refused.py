"""The messages for invalid calls: refused.txt (REWRITE=1 writes its answers)."""

from pathlib import Path

from functions.calling import lowered_call
from millstream.model.errors import StatementError
from support.golden import check


def refusal(call: str) -> str:
    try:
        lowered_call(call)
    except StatementError as error:
        return str(error)
    return "taken"


def test_refusals() -> None:
    check(Path(__file__).parent / "refused.txt", refusal)
