"""The error of all migration commands."""


class MigrationError(Exception):
    """A migration failed or is not valid; `fact` is what is wrong, `hint` what to do about it ("" if nothing)."""

    def __init__(self, fact: str, hint: str = "") -> None:
        self.fact, self.hint = fact, hint
        super().__init__(fact + (f"\n  hint: {hint}" if hint else ""))
