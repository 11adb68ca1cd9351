"""Compares answers of the REST API with what a case expects of them."""

from base64 import b64decode
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from google.protobuf.message_factory import GetMessageClass
from google.protobuf.text_format import MessageToString, Parse

from millstream.catalog.schemas import SchemaText
from millstream.formats import protofile
from millstream.tester.cases import Json
from millstream.tester.json_views import dumps, same

STARTS = "|starts_with"


def subset(expected: Json, actual: Json) -> bool:
    """True if `actual` contains everything in `expected`, and possibly more; `name|starts_with` expects a prefix."""
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(_member(name, value, actual) for name, value in expected.items())
    if isinstance(expected, list):
        same_length = isinstance(actual, list) and len(expected) == len(actual)
        return same_length and all(map(subset, expected, actual))
    return same(expected, actual)


def _member(name: str, value: Any, actual: dict[str, Json]) -> bool:
    if name.endswith(STARTS):
        return str(actual.get(name.removesuffix(STARTS), "")).startswith(str(value))
    return name in actual and subset(value, actual[name])


def difference(expected: Sequence[Json], actual: Sequence[Json], ordered: bool) -> str | None:
    """The first difference between answers of /query, in two lines; None if there is none.

    If not `ordered`, rows may come in any order.
    """
    pairs = zip_longest(expected, actual) if ordered else zip_longest(_sorted(expected), _sorted(actual))
    for desired, row in pairs:
        if desired is None or row is None or not subset(desired, row) or _marked(desired) != _marked(row):
            return f"  expected {dumps(desired)}\n  actual   {dumps(row)}"
    return None


def protobuf_difference(expected: Sequence[Json], actual: Sequence[Json]) -> str | None:
    """The first difference between answers of /query with rows as Protobuf, in two lines; None if there is none.

    `expected` has the messages' text forms. Rows, and the entries of maps, may come in any order.
    """
    descriptor = protofile.message(SchemaText("PROTOBUF", actual[0]["header"]["protoSchema"]), entries_are_maps=False)
    assert descriptor is not None
    kind = GetMessageClass(descriptor)
    desired = [{"row": _text_form(Parse(row["row"], kind()))} if "row" in row else row for row in expected]
    rows = [{"row": _text_form(_decoded(row, kind))} if "row" in row else row for row in actual]
    return difference(desired, rows, ordered=False)


def _decoded(item: Json, kind: Any) -> Any:
    return kind.FromString(b64decode(item["row"]["protobufBytes"]))


def _text_form(message: Any) -> str:
    """A message's text form, with the entries of maps in the order of their bytes."""
    for field, value in message.ListFields():
        if field.is_repeated and field.message_type is not None and field.message_type.name.endswith("Entry"):
            value.sort(key=lambda entry: entry.SerializeToString(deterministic=True))
    return MessageToString(message)


def _marked(item: Json) -> bool:
    row = item.get("row", {})
    return isinstance(row, dict) and bool(row.get("tombstone"))


def _sorted(items: Sequence[Json]) -> list[Json]:
    """The items in a fixed order: the header first, rows by their text, then the rest."""
    rank = {"header": 0, "row": 1}
    return sorted(items, key=lambda item: (min(rank.get(name, 2) for name in item), _key(item)))


def _key(item: Json) -> str:
    row = item.get("row", "")
    return row if isinstance(row, str) else dumps(row["columns"])
