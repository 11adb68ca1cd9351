"""What can be missing on the machine: each error is a sentence and a way out."""


class SetupError(Exception):
    """A part could not be fetched or started: `fact` (what is wrong) and `hint` (what to do about it)."""

    def __init__(self, fact: str, hint: str = "") -> None:
        self.fact, self.hint = fact, hint
        super().__init__(fact + (f"\n  hint: {hint}" if hint else ""))
