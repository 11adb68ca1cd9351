"""Keys as a store orders them: the window cut off, and numbers so that their bytes sort as they do."""

from dataclasses import dataclass

from millstream.catalog.catalog import Source, Windowed
from millstream.formats.windowed_keys import with_window, without_window
from millstream.model.types import BIGINT, BYTES, DOUBLE, INTEGER, STRING, SqlType

_WHOLE = (INTEGER, BIGINT)
# The least stored key that is no negative number begins with it.
SIGN_BIT = b"\x80"


@dataclass(frozen=True, slots=True)
class StoreKeys:
    """How one table's keys are stored: `ordered` is the type by which their bytes sort, None where they do not."""

    windowed: Windowed | None
    ordered: SqlType | None

    @property
    def signed(self) -> bool:
        """Whether the keys are numbers, which are stored with their sign turned over."""
        return self.ordered in (*_WHOLE, DOUBLE)

    @property
    def inverted(self) -> bool:
        """Whether negative keys are stored in the opposite order of their own bytes."""
        return self.ordered == DOUBLE

    def cut(self, key: bytes) -> tuple[bytes, int, int]:
        """A record's key as it is stored, and its window's start and end in epoch ms (0 without).

        Raises ValueError where it is too short to have a window.
        """
        if self.windowed is None:
            return self.stored(key), 0, 0
        bare, start, end = without_window(key, self.windowed)
        return self.stored(bare), start, end

    def joined(self, stored: bytes, start: int, end: int) -> bytes:
        """The record's key again."""
        key = self._turned(stored, back=True)
        return key if self.windowed is None else with_window(key, self.windowed, start, end)

    def stored(self, key: bytes) -> bytes:
        """The bytes of a key without window as they are stored."""
        return self._turned(key)

    def _turned(self, key: bytes, back: bool = False) -> bytes:
        """Whole numbers with their sign turned over, doubles also with the other bits of negative ones."""
        if not key or not self.signed:
            return key
        negative = (key[0] < 0x80) if back else (key[0] >= 0x80)
        if self.ordered == DOUBLE and negative:
            return bytes(255 - b for b in key)
        return bytes((key[0] ^ 0x80,)) + key[1:]


def keys_of(source: Source) -> StoreKeys:
    """How the keys of a table are stored. Only KAFKA's keys sort by their bytes."""
    only = source.schema.key[0].type if len(source.schema.key) == 1 else None
    sorts = source.key.format == "KAFKA" and only in (*_WHOLE, DOUBLE, STRING, BYTES)
    return StoreKeys(source.windowed, only if sorts else None)
