"""Functions of text that holds JSON."""

from collections.abc import Sequence

from millstream.functions.declare import Function, Signature
from millstream.functions.jsontext import json_text
from millstream.functions.signatures import parse_signature, scalar
from millstream.model.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING, SqlType


def _row(name: str, description: str, signatures: Sequence[Signature], example: str, answer: str) -> Function:
    return scalar(name, "JSON", description, signatures, example, answer)


_COMPARED = (INTEGER, BIGINT, DOUBLE, BOOLEAN, STRING)


def _has(texts: Sequence[str], types: Sequence[SqlType | None], result: SqlType) -> str:
    json, value = texts
    if types[1] in _COMPARED:
        return f"ms_json_has({json}, {value})"
    return f"({value} is null and ms_json_has({json}, null))"


JSON = (
    _row(
        "EXTRACTJSONFIELD",
        "The value at a path like $.a.b[0] in JSON text: a string without quotes, else JSON (null too); NULL if none.",
        (parse_signature("(json STRING, path STRING) -> STRING", "ms_json_extract({*})"),),
        """EXTRACTJSONFIELD('{"a": {"b": [7, 8]}}', '$.a.b[1]')""",
        "8",
    ),
    _row(
        "IS_JSON_STRING",
        "Whether the text is JSON; false for NULL.",
        (parse_signature("(text STRING) -> BOOLEAN", "coalesce(ms_json_is({0}), false)"),),
        "IS_JSON_STRING('[1, 2')",
        "false",
    ),
    _row(
        "JSON_ARRAY_CONTAINS",
        "Whether the JSON array has the value as an element, of the same type; false if the text is not an array.",
        (parse_signature("(json STRING, value T) -> BOOLEAN", _has),),
        "JSON_ARRAY_CONTAINS('[1, 2, 3]', 3)",
        "true",
    ),
    _row(
        "JSON_ARRAY_LENGTH",
        "The number of elements of the JSON array; NULL if it is not an array.",
        (parse_signature("(json STRING) -> INTEGER", "ms_json_length({0})"),),
        "JSON_ARRAY_LENGTH('[1, [2, 3], {}]')",
        "3",
    ),
    _row(
        "JSON_CONCAT",
        "Merges JSON objects (the last of equal names is kept), or concatenates arrays and single values.",
        (parse_signature("(first STRING, rest STRING...) -> STRING", "ms_json_concat(array({*}))"),),
        """JSON_CONCAT('{"a": 1}', '{"b": 2}')""",
        '{"a":1,"b":2}',
    ),
    _row(
        "JSON_ITEMS",
        "The elements of a JSON array, each as JSON text.",
        (parse_signature("(json STRING) -> ARRAY<STRING>", "ms_json_items({0})"),),
        """JSON_ITEMS('[1, "a"]')""",
        '[1, "a"]',
    ),
    _row(
        "JSON_KEYS",
        "The names in the JSON object; NULL if it is not an object.",
        (parse_signature("(json STRING) -> ARRAY<STRING>", "ms_json_keys({0})"),),
        """JSON_KEYS('{"a": 1, "b": 2}')""",
        "[a, b]",
    ),
    _row(
        "JSON_RECORDS",
        "The fields of the JSON object: strings without quotes, other values as JSON; NULL if it is not an object.",
        (parse_signature("(json STRING) -> MAP<STRING, STRING>", "ms_json_records({0})"),),
        """JSON_RECORDS('{"a": 1, "b": "x"}')""",
        "{a=1, b=x}",
    ),
    _row(
        "TO_JSON_STRING",
        "The value as JSON text, names in alphabetical order; NULL as null.",
        (parse_signature("(value T) -> STRING", json_text),),
        "TO_JSON_STRING(MAP('a' := ARRAY[1, NULL]))",
        '{"a":[1,null]}',
    ),
)
