"""Postgres's binary form of numeric: digits in base 10,000, as numeric_send and numeric_recv have them."""

import struct
from decimal import Decimal

# A group of the binary form has four decimal digits.
BASE_DIGITS = 4
POSITIVE, NEGATIVE, NAN, INFINITY, NEGATIVE_INFINITY = 0x0000, 0x4000, 0xC000, 0xD000, 0xF000


def numeric_bytes(text: str) -> bytes:
    """The binary form of a decimal number.

    "-123.45"  →  weight 0 (the first group is 123 × 10000⁰), scale 2, groups 0123 4500
    """
    number = Decimal(text)
    if not number.is_finite():
        sign = NAN if number.is_nan() else INFINITY if number > 0 else NEGATIVE_INFINITY
        return struct.pack("!HhHH", 0, 0, sign, 0)
    sign = NEGATIVE if number.is_signed() else POSITIVE
    integer_part, _, fraction = f"{abs(number):f}".partition(".")
    integer_part = integer_part.lstrip("0")
    width = -(-len(integer_part) // BASE_DIGITS) * BASE_DIGITS
    digits = integer_part.rjust(width, "0") + fraction.ljust(-(-len(fraction) // BASE_DIGITS) * BASE_DIGITS, "0")
    groups = [int(digits[at : at + BASE_DIGITS]) for at in range(0, len(digits), BASE_DIGITS)]
    weight = width // BASE_DIGITS - 1
    while groups and groups[0] == 0:
        groups, weight = groups[1:], weight - 1
    while groups and groups[-1] == 0:
        groups = groups[:-1]
    head = (len(groups), weight if groups else 0, sign if groups else POSITIVE, len(fraction))
    return struct.pack(f"!HhHH{len(groups)}H", *head, *groups)


def read_numeric(content: bytes) -> Decimal:
    """A decimal number from its binary form. Raises ValueError if the bytes are none."""
    try:
        count, weight, sign, scale = struct.unpack_from("!HhHH", content)
        groups = struct.unpack(f"!{count}H", content[8:])
    except struct.error as error:
        raise ValueError(f"these bytes are not a numeric: {error}") from None
    if sign in (NAN, INFINITY, NEGATIVE_INFINITY):
        return Decimal({NAN: "NaN", INFINITY: "Infinity"}.get(sign, "-Infinity"))
    if sign not in (POSITIVE, NEGATIVE) or any(group > 9999 for group in groups):
        raise ValueError("these bytes are not a numeric")
    digits = tuple(int(digit) for group in groups for digit in f"{group:04d}")
    exponent = (weight - count + 1) * BASE_DIGITS
    number = Decimal((int(sign == NEGATIVE), digits or (0,), exponent if digits else 0))
    return Decimal(f"{number:.{scale}f}")
