"""Errors about what is missing on the machine, each with a hint."""


class SetupError(Exception):
    """A component could not be downloaded or started: `fact` is what is wrong, `hint` what to do about it."""

    def __init__(self, fact: str, hint: str = "") -> None:
        self.fact, self.hint = fact, hint
        super().__init__(fact + (f"\n  hint: {hint}" if hint else ""))


class EndedWhileStarting(SetupError):
    """A process that has ended by itself before it answered; another start may succeed."""
