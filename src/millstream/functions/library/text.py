"""Functions of text, and of bytes where one name serves both."""

import re
from collections.abc import Sequence

from millstream.functions.declare import Function, Signature
from millstream.functions.signatures import parse_signature, scalar


def _row(name: str, description: str, signatures: Sequence[Signature], example: str, answer: str) -> Function:
    return scalar(name, "text", description, signatures, example, answer)


def _both(text: str, spark: str) -> tuple[Signature, ...]:
    """The signatures for STRING and for BYTES: N in `text` and `spark` is replaced by the type."""
    return tuple(
        parse_signature(re.sub(r"\bN\b", name, text), spark.replace("_N", suffix))
        for name, suffix in (("STRING", ""), ("BYTES", "_bytes"))
    )


_CLASSES = ", ".join(f"{c} STRING" for c in ("upper", "lower", "digit", "other"))


def _mask_characters(first: int) -> str:
    """The characters that replace the four classes; empty text (for NULL) keeps a class unchanged."""
    return ", ".join(f"coalesce(ms_mask_character({{{i}}}), '')" for i in range(first, first + 4))


def _mask(name: str, description: str, spark: str, example: str, answer: str) -> Function:
    """A row for MASK_LEFT or a function like it: a number, then the characters that replace the four classes."""
    return _row(
        name,
        description,
        (
            parse_signature("(text STRING, count INTEGER) -> STRING", f"{spark}({{0}}, {{1}}, 'X', 'x', 'n', '-')"),
            parse_signature(
                f"(text STRING, count INTEGER, {_CLASSES}) -> STRING", f"{spark}({{0}}, {{1}}, {_mask_characters(2)})"
            ),
        ),
        example,
        answer,
    )


TEXT = (
    _row(
        "CHR",
        "The character of a code point, or of text like \\u004b; NULL if there is none.",
        (
            parse_signature("(code INTEGER) -> STRING", "ms_chr({0})"),
            parse_signature("(code STRING) -> STRING", "ms_chr_text({0})"),
        ),
        "CHR(75)",
        "K",
    ),
    _row(
        "CONCAT",
        "The parts, concatenated; NULLs are ignored.",
        (
            parse_signature("(first STRING, rest STRING...) -> STRING", "concat_ws('', {*})"),
            parse_signature("(first BYTES, rest BYTES...) -> BYTES", "ms_concat_bytes(X'', array({*}))"),
        ),
        "CONCAT('a', NULL, 'b')",
        "ab",
    ),
    _row(
        "CONCAT_WS",
        "The parts, concatenated with the separator between them; NULL parts are ignored.",
        (
            parse_signature("(separator STRING, first STRING, rest STRING...) -> STRING", "concat_ws({*})"),
            parse_signature(
                "(separator BYTES, first BYTES, rest BYTES...) -> BYTES",
                lambda texts, types, result: f"ms_concat_bytes({texts[0]}, array({', '.join(texts[1:])}))",
            ),
        ),
        "CONCAT_WS(', ', 'a', NULL, 'b')",
        "a, b",
    ),
    _row(
        "INITCAP",
        "Each word with its first letter in upper case and the rest in lower, without blanks before the first.",
        (parse_signature("(text STRING) -> STRING", "ms_initcap({0})"),),
        "INITCAP('the qUICK fox')",
        "The Quick Fox",
    ),
    _row(
        "INSTR",
        "The position of a text in another, counted from 1; 0 if it is missing. Searches from a position"
        " (negative: from the end, backwards) for the nth occurrence.",
        (
            parse_signature("(text STRING, part STRING) -> INTEGER", "coalesce(ms_instr({0}, {1}, 1, 1), 0)"),
            parse_signature("(text STRING, part STRING, position INTEGER) -> INTEGER", "coalesce(ms_instr({*}, 1), 0)"),
            parse_signature(
                "(text STRING, part STRING, position INTEGER, occurrence INTEGER) -> INTEGER",
                "coalesce(ms_instr({*}), 0)",
            ),
        ),
        "INSTR('corporate floor', 'or', 3, 2)",
        "14",
    ),
    _row(
        "LCASE",
        "The text in lower case.",
        (parse_signature("(text STRING) -> STRING", "ms_lcase({0})"),),
        "LCASE('AbC')",
        "abc",
    ),
    _row(
        "UCASE",
        "The text in upper case.",
        (parse_signature("(text STRING) -> STRING", "ms_ucase({0})"),),
        "UCASE('AbC')",
        "ABC",
    ),
    _row(
        "TRIM",
        "The text without the blanks and control characters at its ends.",
        (parse_signature("(text STRING) -> STRING", "ms_trim({0})"),),
        "TRIM('  a b ')",
        "a b",
    ),
    _row(
        "LEN",
        "The number of characters (UTF-16 units) or bytes.",
        (
            parse_signature("(text STRING) -> INTEGER", "ms_len({0})"),
            parse_signature("(bytes BYTES) -> INTEGER", "octet_length({0})"),
        ),
        "LEN('stream')",
        "6",
    ),
    _row(
        "LPAD",
        "Padded on the left to that length; longer values are cut. NULL for an empty padding or a length below 0.",
        _both("(value N, length INTEGER, padding N) -> N", "ms_lpad_N({*})"),
        "LPAD('foo', 7, 'ab')",
        "ababfoo",
    ),
    _row(
        "RPAD",
        "Padded on the right to that length; longer values are cut. NULL for an empty padding or a length below 0.",
        _both("(value N, length INTEGER, padding N) -> N", "ms_rpad_N({*})"),
        "RPAD('foo', 7, 'ab')",
        "fooabab",
    ),
    _row(
        "SUBSTRING",
        "The part from a position on, counted from 1 (negative: from the end), of that length or to the end.",
        (
            *_both("(value N, position INTEGER) -> N", "ms_substring_N({0}, {1}, 2147483647)"),
            *_both("(value N, position INTEGER, length INTEGER) -> N", "ms_substring_N({*})"),
        ),
        "SUBSTRING('stream', 2, 3)",
        "tre",
    ),
    _row(
        "REPLACE",
        "The text with each occurrence of a part replaced.",
        (parse_signature("(text STRING, old STRING, new STRING) -> STRING", "ms_replace({*})"),),
        "REPLACE('anaconda', 'a', 'o')",
        "onocondo",
    ),
    _row(
        "REGEXP_REPLACE",
        "The text with each match of the (Java) pattern replaced; $1 is the first group.",
        (parse_signature("(text STRING, pattern STRING, new STRING) -> STRING", "ms_regexp_replace({*})"),),
        "REGEXP_REPLACE('a1b22', '[0-9]+', '#')",
        "a#b#",
    ),
    _row(
        "REGEXP_EXTRACT",
        "The first match of the pattern, or its group of that number; NULL if there is none.",
        (
            parse_signature("(pattern STRING, text STRING) -> STRING", "ms_regexp_extract({*}, 0)"),
            parse_signature("(pattern STRING, text STRING, group INTEGER) -> STRING", "ms_regexp_extract({*})"),
        ),
        "REGEXP_EXTRACT('(\\w+)@(\\w+)', 'joe@home', 2)",
        "home",
    ),
    _row(
        "REGEXP_EXTRACT_ALL",
        "All matches of the pattern, or their group of that number.",
        (
            parse_signature("(pattern STRING, text STRING) -> ARRAY<STRING>", "ms_regexp_extract_all({*}, 0)"),
            parse_signature(
                "(pattern STRING, text STRING, group INTEGER) -> ARRAY<STRING>", "ms_regexp_extract_all({*})"
            ),
        ),
        "REGEXP_EXTRACT_ALL('[0-9]+', 'a1b22')",
        "[1, 22]",
    ),
    _row(
        "REGEXP_SPLIT_TO_ARRAY",
        "The parts between the matches of the pattern; an empty pattern gives each character.",
        (parse_signature("(text STRING, pattern STRING) -> ARRAY<STRING>", "ms_regexp_split({*})"),),
        "REGEXP_SPLIT_TO_ARRAY('a1b22c', '[0-9]+')",
        "[a, b, c]",
    ),
    _row(
        "SPLIT",
        "The parts between the delimiters; an empty delimiter gives each character or byte.",
        _both("(value N, delimiter N) -> ARRAY<N>", "ms_split_N({*})"),
        "SPLIT('a,b,,c', ',')",
        "[a, b, , c]",
    ),
    _row(
        "SPLIT_TO_MAP",
        "Splits text into entries at one delimiter; the first two parts at the other one are key and value.",
        (
            parse_signature(
                "(text STRING, entries STRING, values STRING) -> MAP<STRING, STRING>", "ms_split_to_map({*})"
            ),
        ),
        "SPLIT_TO_MAP('a:1;b:2', ';', ':')",
        "{a=1, b=2}",
    ),
    _row(
        "MASK",
        "The text with letters, digits and the rest replaced by X, x, n and -; by others where given (NULL: not).",
        (
            parse_signature("(text STRING) -> STRING", "ms_mask({0}, 'X', 'x', 'n', '-')"),
            parse_signature(f"(text STRING, {_CLASSES}) -> STRING", f"ms_mask({{0}}, {_mask_characters(1)})"),
        ),
        "MASK('My Test $123')",
        "Xx-Xxxx--nnn",
    ),
    _mask(
        "MASK_LEFT", "MASK over the first characters.", "ms_mask_left", "MASK_LEFT('My Test $123', 4)", "Xx-Xest $123"
    ),
    _mask(
        "MASK_RIGHT", "MASK over the last characters.", "ms_mask_right", "MASK_RIGHT('My Test $123', 4)", "My Test -nnn"
    ),
    _mask(
        "MASK_KEEP_LEFT",
        "MASK over all but the first characters.",
        "ms_mask_keep_left",
        "MASK_KEEP_LEFT('My Test $123', 4)",
        "My Txxx--nnn",
    ),
    _mask(
        "MASK_KEEP_RIGHT",
        "MASK over all but the last characters.",
        "ms_mask_keep_right",
        "MASK_KEEP_RIGHT('My Test $123', 4)",
        "Xx-Xxxx-$123",
    ),
    _row(
        "MD5",
        "The MD5 digest of the text, in lower-case hexadecimal.",
        (parse_signature("(text STRING) -> STRING", "md5(cast({0} as binary))"),),
        "MD5('r1')",
        "7c92cf1eee8d99cc85f8355a3d6e4b86",
    ),
    _row(
        "UUID",
        "A random UUID for each row, or the UUID that 16 bytes contain.",
        (parse_signature("() -> STRING", "ms_uuid()"), parse_signature("(bytes BYTES) -> STRING", "ms_uuid_of({0})")),
        "LEN(UUID())",
        "36",
    ),
)
