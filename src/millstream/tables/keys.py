"""The form of keys in a store: without the window, and with numbers encoded so that their bytes sort correctly."""

from dataclasses import dataclass

from millstream.catalog.catalog import Source, Windowed
from millstream.formats.windowed_keys import with_window, without_window
from millstream.model.types import BIGINT, DOUBLE, INTEGER, STRING, SqlType

_INTEGERS = (INTEGER, BIGINT)
# The smallest stored key that is not a negative number begins with this byte.
SIGN_BIT = b"\x80"


@dataclass(frozen=True, slots=True)
class StoreKeys:
    """How one table's keys are stored: `ordered` is the type by which their bytes sort; None if they do not sort."""

    windowed: Windowed | None
    ordered: SqlType | None

    @property
    def signed(self) -> bool:
        """True if the keys are numbers, which are stored with an inverted sign bit."""
        return self.ordered in (*_INTEGERS, DOUBLE)

    @property
    def inverted(self) -> bool:
        """True if negative keys are stored in the opposite order of their own bytes."""
        return self.ordered == DOUBLE

    def cut(self, key: bytes) -> tuple[bytes, int, int]:
        """A record's key in its stored form, and its window's start and end in epoch ms (0 without a window).

        Raises ValueError if it is too short to contain a window.
        """
        if self.windowed is None:
            return self.stored(key), 0, 0
        bare, start, end = without_window(key, self.windowed)
        return self.stored(bare), start, end

    def joined(self, stored: bytes, start: int, end: int) -> bytes:
        """The record's key, from its stored form and window."""
        key = self.bare(stored)
        return key if self.windowed is None else with_window(key, self.windowed, start, end)

    def bare(self, stored: bytes) -> bytes:
        """The record's key without its window, from its stored form."""
        return self._with_inverted_sign(stored, back=True)

    def stored(self, key: bytes) -> bytes:
        """The stored form of a key without window."""
        return self._with_inverted_sign(key)

    def _with_inverted_sign(self, key: bytes, back: bool = False) -> bytes:
        """Whole numbers with an inverted sign bit; for negative doubles the other bits are inverted too."""
        if not key or not self.signed:
            return key
        negative = (key[0] < 0x80) if back else (key[0] >= 0x80)
        if self.ordered == DOUBLE and negative:
            return bytes(255 - b for b in key)
        return bytes((key[0] ^ 0x80,)) + key[1:]


def keys_of(source: Source) -> StoreKeys:
    """The stored form of a table's keys. Only keys of the format KAFKA sort by their bytes, and not BYTES, which are
    ordered by signed bytes."""
    only = source.schema.key[0].type if len(source.schema.key) == 1 else None
    sorts = source.key.format == "KAFKA" and only in (*_INTEGERS, DOUBLE, STRING)
    return StoreKeys(source.windowed, only if sorts else None)
