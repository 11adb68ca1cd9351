"""What a migration raises: MigrationError, with a fact and a hint."""


class MigrationError(Exception):
    """A migration that cannot be: what is wrong, and what to do about it."""

    def __init__(self, fact: str, hint: str = "") -> None:
        self.fact, self.hint = fact, hint
        super().__init__(fact + (f"\n  hint: {hint}" if hint else ""))
