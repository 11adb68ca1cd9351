"""Compares a case's expectations with the results, and reports differences in readable form."""

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from millstream.analysis.sources import expand
from millstream.catalog.catalog import Catalog, Serde, Source
from millstream.catalog.schemas import subject
from millstream.model.schema import RecordPart
from millstream.model.types import SqlType
from millstream.syntax.parser import parse_columns
from millstream.syntax.tree import ColumnDef
from millstream.tester.cases import CaseRecord, ConformanceCase, Json
from millstream.tester.json_views import dumps, same, to_view, unwindowed
from millstream.tester.play import PlacedRecord, PlayResult
from millstream.tester.schema_id_records import decode


def differences(case: ConformanceCase, result: PlayResult) -> Iterator[str]:
    """All differences between the case and its results, as text; none if it passes."""
    for topic in dict.fromkeys(r.topic for r in case.outputs):
        expected = [r for r in case.outputs if r.topic == topic]
        actual = sorted(result.records.get(topic, ()), key=lambda p: p.order)
        yield from _topic(topic, expected, actual, result, bool(case.inputs))
    for source in case.expect.get("sources") or ():
        yield from _source(source, result.catalog)
    for expected in (case.expect.get("topics") or {}).get("topics") or ():
        yield from _written(expected, result)


def _topic(
    topic: str, expected: Sequence[CaseRecord], actual: Sequence[PlacedRecord], result: PlayResult, timed: bool
) -> Iterator[str]:
    sink = next((s for s in result.catalog.sources.values() if s.topic == topic), None)
    views = [shown(placed, sink, result) for placed in actual]
    for number, (record, view) in enumerate(zip_longest(expected, views)):
        if record is None or view is None or not _equal(record, view, timed):
            yield f"{topic} record {number}\n  expected {_text(record)}\n  actual   {_text(view)}"


def shown(placed: PlacedRecord, sink: Source | None, result: PlayResult) -> CaseRecord:
    """A record in the form of a case: key and value decoded in the sink's formats, windows and headers separate."""
    record = placed.record
    columns = sink.schema if sink else None
    bare, window = _unwindowed(record.key, sink)
    key = _view(bare, sink.key if sink else Serde("KAFKA"), columns.key if columns else (), result)
    value = _view(record.value, sink.value if sink else Serde("JSON"), columns.value if columns else (), result)
    headers = tuple((name, _base64(data)) for name, data in record.headers)
    return CaseRecord(sink.topic if sink else "", key, value, record.rowtime, window, headers)


def _unwindowed(key: bytes | None, sink: Source | None) -> tuple[bytes | None, Json]:
    try:
        return unwindowed(key, sink.windowed if sink else None)
    except ValueError as error:
        return key, str(error)


def _base64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def _view(data: bytes | None, serde: Serde, columns: Sequence[Any], result: PlayResult) -> Any:
    try:
        if data is not None and serde.schema and serde.format != "PROTOBUF_NOSR":
            return decode(data, result.schemas.by_id)
        return to_view(data, serde, columns)
    except (ValueError, EOFError) as error:
        return f"unreadable: {error}: {data!r}"


def _equal(expected: CaseRecord, actual: CaseRecord, timed: bool) -> bool:
    if timed and expected.timestamp is not None and expected.timestamp != actual.timestamp:
        return False
    return (
        _same_row(expected.key, actual.key)
        and _same_row(expected.value, actual.value)
        and same(expected.window, actual.window)
        and expected.headers == actual.headers
    )


def _same_row(expected: Json, actual: Json) -> bool:
    """True if two rows are equal; a column that is null in one may be absent in the other."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return same(_filled(expected), _filled(actual))
    return same(expected, actual)


def _filled(row: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in row.items() if value is not None}


def _text(record: CaseRecord | None) -> str:
    if record is None:
        return "no record"
    headers = f" headers {record.headers}" if record.headers else ""
    time = "" if record.timestamp is None else f" @{record.timestamp}"
    window = f" in {dumps(record.window)}" if record.window else ""
    return f"{dumps(record.key)}{window}: {dumps(record.value)}{time}{headers}"


def _source(expected: dict[str, Any], catalog: Catalog) -> Iterator[str]:
    source = catalog.sources.get(expected["name"])
    if source is None:
        yield f"no source {expected['name']} in the catalog"
        return
    if expected.get("type") and expected["type"].upper() != source.kind.value:
        yield f"{source.name} is a {source.kind.value}, not a {expected['type']}"
    if expected.get("schema") is not None:
        yield from _schema(expected["schema"], source, catalog)
    yield from _formats(expected, source)


def _schema(text: str, source: Source, catalog: Catalog) -> Iterator[str]:
    expected = [_column(c, catalog) for c in parse_columns(text)]
    actual = [(c.name, c.type, c.part is RecordPart.KEY) for c in source.schema]
    if expected != actual:
        yield f"schema of {source.name}\n  expected {text}\n  actual   {source.schema}"


def _column(column: ColumnDef, catalog: Catalog) -> tuple[str, SqlType, bool]:
    key = column.mark is not None and "KEY" in column.mark.value
    return column.name, expand(column.type, catalog.types, column.span), key


def _formats(expected: dict[str, Any], source: Source) -> Iterator[str]:
    for side, serde, columns in (("key", source.key, source.schema.key), ("value", source.value, source.schema.value)):
        want = expected.get(f"{side}Format")
        name = want["format"] if isinstance(want, dict) else want
        if name is not None and name.upper() != serde.format:
            yield f"{side} format of {source.name} is {serde.format}, not {name}"
        features = expected.get(f"{side}Features")
        if features is not None and sorted(features) != _features(serde):
            yield f"{side} features of {source.name} are {_features(serde)}, not {features} ({len(columns)} columns)"


def _written(expected: dict[str, Any], result: PlayResult) -> Iterator[str]:
    """Differences in the formats of a topic, if a source is declared over it; a query's internal topics are ignored."""
    source = next((s for s in result.catalog.sources.values() if s.topic == expected["name"]), None)
    if source is None:
        return
    partitions = result.topics[source.topic].partitions
    # Cases assume that the topics of sinks exist, with four partitions whatever the sources have.
    if source.created_by is None and expected.get("partitions") not in (None, partitions):
        yield f"{source.topic} has {partitions} partitions, not {expected['partitions']}"
    yield from _formats({k: v for k, v in expected.items() if k in ("keyFormat", "valueFormat")}, source)
    for side in ("key", "value"):
        latest = result.schemas.latest(subject(source.topic, side))
        want = expected.get(f"{side}Schema")
        text = latest.schema.text if latest else ""
        if want is not None and not (text and _same_schema(want, text)):
            yield f"{side} schema of {source.topic}\n  expected {want}\n  actual   {text or 'none'}"


def _same_schema(want: Json, text: str) -> bool:
    if not isinstance(want, str):
        return bool(json.loads(text) == want)
    return want.split() == text.split()


def _features(serde: Serde) -> list[str]:
    return [] if serde.wrap is None else ["WRAP_SINGLES" if serde.wrap else "UNWRAP_SINGLES"]
