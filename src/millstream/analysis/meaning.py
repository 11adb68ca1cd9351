"""Typed expressions: what an expression of the tree means against one relation.

A relation has a key struct, a value struct and pseudo-columns (DESIGN.md §3); user names are gone, positions stay.
Header columns are part of the value struct once a source is read.
"""

from dataclasses import dataclass
from enum import Enum

from millstream.model.types import SqlType


class Where(Enum):
    """The place in a relation that a reference points to."""

    KEY = "key"
    VALUE = "value"
    ROWTIME = "rowtime"
    ROWPARTITION = "partition"
    ROWOFFSET = "offset"
    WINDOWSTART = "wstart"
    WINDOWEND = "wend"


@dataclass(frozen=True, slots=True)
class Meaning:
    """A typed expression; `type` is None only for a bare NULL."""

    type: SqlType | None


@dataclass(frozen=True, slots=True)
class Ref(Meaning):
    """A column of the relation: key or value column number `index`, or a pseudo-column. `name` is for messages."""

    where: Where
    index: int
    name: str


@dataclass(frozen=True, slots=True)
class Const(Meaning):
    """A constant: bool, int, decimal.Decimal, float, str, bytes or None."""

    value: object
