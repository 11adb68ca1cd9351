"""Functions between text, numbers and bytes."""

from millstream.functions.declare import Function
from millstream.functions.signatures import parse_signature, scalar


def _number(name: str, result: str, size: int, spark: str, example: str, answer: str) -> Function:
    """A row for BIGINT_FROM_BYTES or a function like it."""
    return scalar(
        name,
        "bytes",
        f"The {result} in {size} bytes, in the byte order BIG_ENDIAN (the default) or LITTLE_ENDIAN.",
        (
            parse_signature(f"(bytes BYTES) -> {result}", f"{spark}({{0}}, 'BIG_ENDIAN')"),
            parse_signature(f"(bytes BYTES, order STRING) -> {result}", f"{spark}({{*}})"),
        ),
        example,
        answer,
    )


BYTES_FUNCTIONS = (
    scalar(
        "ENCODE",
        "bytes",
        "Converts text from one encoding to another: hex, utf8, ascii or base64 (other characters are ignored).",
        (parse_signature("(text STRING, from STRING, to STRING) -> STRING", "ms_encode({*})"),),
        "ENCODE('Example!', 'ascii', 'hex')",
        "4578616d706c6521",
    ),
    scalar(
        "TO_BYTES",
        "bytes",
        "The bytes of text in an encoding: hex, utf8, ascii or base64.",
        (parse_signature("(text STRING, encoding STRING) -> BYTES", "ms_to_bytes({*})"),),
        "FROM_BYTES(TO_BYTES('2123', 'hex'), 'utf8')",
        "!#",
    ),
    scalar(
        "FROM_BYTES",
        "bytes",
        "The text of bytes in an encoding: hex, utf8, ascii or base64.",
        (parse_signature("(bytes BYTES, encoding STRING) -> STRING", "ms_from_bytes({*})"),),
        "FROM_BYTES(TO_BYTES('foo', 'utf8'), 'base64')",
        "Zm9v",
    ),
    _number("INT_FROM_BYTES", "INTEGER", 4, "ms_int_from", "INT_FROM_BYTES(TO_BYTES('00000102', 'hex'))", "258"),
    _number(
        "BIGINT_FROM_BYTES",
        "BIGINT",
        8,
        "ms_bigint_from",
        "BIGINT_FROM_BYTES(TO_BYTES('0100000000000000', 'hex'), 'LITTLE_ENDIAN')",
        "1",
    ),
    _number(
        "DOUBLE_FROM_BYTES",
        "DOUBLE",
        8,
        "ms_double_from",
        "DOUBLE_FROM_BYTES(TO_BYTES('3FF8000000000000', 'hex'))",
        "1.5",
    ),
)
