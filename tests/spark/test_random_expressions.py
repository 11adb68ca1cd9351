"""Random expressions over ints and booleans, nulls among them, against what the language says in plain Python."""

import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from pyspark.sql import SparkSession

from millstream.analysis.expressions import type_expression
from millstream.analysis.scope import NameScope, ScopeColumn
from millstream.analysis.typed_expressions import ColumnPlace, ColumnReference
from millstream.model.types import BOOLEAN, INTEGER
from millstream.spark.lower import guarded
from millstream.syntax.parser import parse_expression

COLUMNS: dict[str, object] = {"I": 7, "J": -3, "Z": 0, "BIG": 2147483647, "N": None, "T": True, "F": False, "U": None}
NUMBERS, TRUTHS = ("I", "J", "Z", "BIG", "N"), ("T", "F", "U")
SCOPE = NameScope(
    tuple(
        ScopeColumn(name, None, ColumnReference(INTEGER if name in NUMBERS else BOOLEAN, ColumnPlace.VALUE, i, name))
        for i, name in enumerate(COLUMNS)
    )
)


class Fails(Exception):
    """What an expression does where it has no value and is not null."""


@dataclass(frozen=True, slots=True)
class Generated:
    """An expression's text, and its value in plain Python."""

    text: str
    value: Callable[[], object]

    def sure(self) -> object:
        """The value of an operand that must not be null."""
        value = self.value()
        if value is None:
            raise Fails
        return value

    def number(self) -> int:
        value = self.sure()
        assert isinstance(value, int)
        return value

    def or_null(self) -> object:
        try:
            return self.value()
        except Fails:
            return None


def wrapped(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def divided(left: int, right: int) -> int:
    """Towards zero."""
    if right == 0:
        raise Fails
    return wrapped(abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1))


ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: wrapped(a + b),
    "-": lambda a, b: wrapped(a - b),
    "*": lambda a, b: wrapped(a * b),
    "/": divided,
    "%": lambda a, b: wrapped(a - b * divided(a, b)),
}
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
}


def number(dice: random.Random, depth: int) -> Generated:
    if depth == 0:
        name = dice.choice(NUMBERS)
        return Generated(name, lambda: COLUMNS[name])
    return dice.choice((sum_, sum_, negative, case, if_null, element))(dice, depth - 1)


def right(dice: random.Random, depth: int) -> Generated:
    """A right side: only here are constants, so that no part of an expression is known when it is planned."""
    constant = dice.randint(-3, 3)
    return Generated(str(constant), lambda: constant) if dice.random() < 0.4 else number(dice, depth)


def sum_(dice: random.Random, depth: int) -> Generated:
    left, other, sign = number(dice, depth), right(dice, depth), dice.choice(list(ARITHMETIC))
    return Generated(f"({left.text} {sign} {other.text})", lambda: ARITHMETIC[sign](left.number(), other.number()))


def negative(dice: random.Random, depth: int) -> Generated:
    inner = number(dice, depth)
    return Generated(f"-({inner.text})", lambda: wrapped(-inner.number()))


def case(dice: random.Random, depth: int) -> Generated:
    when, then, otherwise = truth(dice, depth), number(dice, depth), number(dice, depth)
    text = f"CASE WHEN {when.text} THEN {then.text} ELSE {otherwise.text} END"
    return Generated(f"({text})", lambda: then.value() if when.sure() else otherwise.value())


def if_null(dice: random.Random, depth: int) -> Generated:
    """A call or cast in an argument is null where it fails; anything else fails the call."""
    inner, other = number(dice, depth), number(dice, depth)
    if dice.random() < 0.5:
        return Generated(f"IFNULL({inner.text}, {other.text})", lambda: _first(_argument(inner), other))
    text = f"IFNULL(CAST(CAST({inner.text} AS STRING) AS INTEGER), {other.text})"
    return Generated(text, lambda: _first(inner.or_null(), other))


def _argument(of: Generated) -> object:
    return of.or_null() if of.text.startswith("IFNULL") else of.value()


def _first(one: object, other: Generated) -> object:
    """The other is computed only where it is needed; ksqlDB computes it always, and fails where it fails."""
    return _argument(other) if one is None else one


def element(dice: random.Random, depth: int) -> Generated:
    """An element that fails is null."""
    items, at = [number(dice, depth) for _ in range(2)], dice.choice((1, 2, -1))
    item = items[0 if at == 1 else 1]
    return Generated(f"ARRAY[{items[0].text}, {items[1].text}][{at}]", item.or_null)


def truth(dice: random.Random, depth: int) -> Generated:
    if depth == 0:
        name = dice.choice(TRUTHS)
        return Generated(name, lambda: COLUMNS[name])
    return dice.choice((compared, compared, both, either, negated, null, distinct, listed, between))(dice, depth - 1)


def compared(dice: random.Random, depth: int) -> Generated:
    left, other, sign = number(dice, depth), right(dice, depth), dice.choice(list(COMPARISONS))
    return Generated(f"({left.text} {sign} {other.text})", lambda: _holds(sign, left, other))


def _holds(sign: str, left: Generated, other: Generated) -> bool:
    """The right side is computed only where the left is not null."""
    one = left.value()
    two = None if one is None else other.value()
    return isinstance(one, int) and isinstance(two, int) and COMPARISONS[sign](one, two)


def both(dice: random.Random, depth: int) -> Generated:
    left, other = truth(dice, depth), truth(dice, depth)
    return Generated(f"({left.text} AND {other.text})", lambda: left.sure() and other.sure())


def either(dice: random.Random, depth: int) -> Generated:
    left, other = truth(dice, depth), truth(dice, depth)
    return Generated(f"({left.text} OR {other.text})", lambda: left.sure() or other.sure())


def negated(dice: random.Random, depth: int) -> Generated:
    inner = truth(dice, depth)
    return Generated(f"(NOT {inner.text})", lambda: not inner.sure())


def null(dice: random.Random, depth: int) -> Generated:
    inner = number(dice, depth)
    return Generated(f"(({inner.text}) IS NULL)", lambda: inner.value() is None)


def distinct(dice: random.Random, depth: int) -> Generated:
    left, other = number(dice, depth), right(dice, depth)
    return Generated(f"({left.text} IS DISTINCT FROM {other.text})", lambda: left.value() != other.value())


def listed(dice: random.Random, depth: int) -> Generated:
    one, items = number(dice, depth), [right(dice, depth) for _ in range(2)]
    text = f"({one.text} IN ({items[0].text}, {items[1].text}))"
    return Generated(text, lambda: _among(one.value(), items))


def _among(one: object, items: list[Generated]) -> bool:
    """Items are computed until one is equal."""
    return one is not None and any(i.value() == one for i in items)


def between(dice: random.Random, depth: int) -> Generated:
    one, low, high = (number(dice, depth) for _ in range(3))
    text = f"({one.text} BETWEEN {low.text} AND {high.text})"
    return Generated(text, lambda: _holds(">=", one, low) and _holds("<=", one, high))


def _hidden(name: str) -> str:
    """A column's value as the optimizer cannot know it."""
    value = "NULL" if COLUMNS[name] is None else str(COLUMNS[name])
    return f"if(id = 0, CAST({value} AS {'INT' if name in NUMBERS else 'BOOLEAN'}), NULL)"


@pytest.mark.parametrize("seed", range(3))
def test_random_expressions(seed: int, spark: SparkSession) -> None:
    dice = random.Random(seed)
    generated = [dice.choice((number, truth))(dice, dice.randint(1, 3)) for _ in range(100)]
    meanings = [type_expression(parse_expression(one.text), SCOPE) for one in generated]
    fields = ", ".join(f"'V{i}', {_hidden(name)}" for i, name in enumerate(COLUMNS))
    row = spark.range(1).selectExpr(f"named_struct({fields}) AS value", "0 AS partition", "1L AS offset")
    actual = (
        row.repartition(1)
        .selectExpr(*(f"{guarded(meaning, 'test')} AS c{i}" for i, meaning in enumerate(meanings)))
        .collect()[0]
    )
    wrong = [
        f"{one.text} gives {g}, not {one.or_null()}"
        for one, g in zip(generated, actual, strict=True)
        if g != one.or_null()
    ]
    assert wrong == []
