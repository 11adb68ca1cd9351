"""Every line of records/*.txt: bytes, the row that they encode, and the bytes of the encoded row."""

import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from millstream.catalog.catalog import Serde
from millstream.formats.spec import spec
from millstream.model.schema import Column
from millstream.spark.codec import RecordCodec, UnreadableRecord
from millstream.spark.types import wire_writer
from millstream.syntax.parser import parse_columns

FILES = sorted((Path(__file__).parent / "records").glob("*.txt"))


@dataclass(frozen=True, slots=True)
class Line:
    """A record: its bytes, the row (JSON text) or `! error`, and the bytes written back where the file says."""

    serde: Serde
    columns: tuple[Column, ...]
    read: str
    row: str
    written: str

    def __str__(self) -> str:
        return f"{self.serde.format} {', '.join(c.name for c in self.columns)}: {self.read}"


def lines_of(file: Path) -> list[Line]:
    """The lines of a file, each with its block."""
    lines, serde, columns = [], Serde("NONE"), tuple[Column, ...]()
    for text in file.read_text().splitlines():
        if text.startswith("== "):
            serde, columns = block(text.removeprefix("== "))
        elif text and not text.startswith("#"):
            read, row, written = [*(part.strip() for part in text.split(" => ")), ""][:3]
            lines.append(Line(serde, columns, read, row, written))
    return lines


def block(text: str) -> tuple[Serde, tuple[Column, ...]]:
    """`FORMAT [unwrapped] [delimiter=X] columns` as a serde and its columns."""
    format, _, rest = text.partition(" ")
    bare, rest = rest.startswith("unwrapped "), rest.removeprefix("unwrapped ")
    properties: tuple[tuple[str, str], ...] = ()
    if rest.startswith("delimiter="):
        delimiter, _, rest = rest.removeprefix("delimiter=").partition(" ")
        properties = (("delimiter", delimiter),)
    columns = tuple(Column(c.name, c.type) for c in parse_columns(rest)) if rest else ()
    return Serde(format, False if bare else None, properties), columns


def data(text: str) -> bytes | None:
    """The bytes of a text in a file."""
    if text == "<null>":
        return None
    if text.startswith("0x"):
        return bytes.fromhex(text[2:])
    return text.replace("<empty>", "").encode()


def wire(row: dict[str, Any] | None, columns: tuple[Column, ...]) -> Any:
    """A row as the files write it."""
    return None if row is None else {c.name: wire_writer(c.type)(row[c.name]) for c in columns}


LINES = [pytest.param(line, id=f"{file.stem}: {line}") for file in FILES for line in lines_of(file)]


@pytest.mark.parametrize("line", LINES)
def test_record(line: Line, spark: SparkSession) -> None:
    """The bytes read as the row, or are refused for the reason; the row is written as the bytes."""
    codec = RecordCodec(spark, spec(line.serde, line.columns), line.columns)
    if line.row.startswith("!"):
        with pytest.raises(UnreadableRecord) as refused:
            codec.decode(data(line.read))
        assert line.row.removeprefix("! ") in str(refused.value)
        return
    row = codec.decode(data(line.read))
    assert json.loads(json.dumps(wire(row, line.columns)), parse_float=Decimal) == json.loads(
        line.row, parse_float=Decimal
    )
    if line.written:
        assert codec.encode(row) == data(line.written)


JSON_TEXTS = (
    b'{"A":1,"T":"x"}', b' {"a":2}', b'{"A":3} trailing', b'{"A":"4","T":{"b":[1,{"c":2}]}}', b'{"A":',
    b'{"A":5,"T":"\xff"}', b'{"A":x}', b'{"A":[6]}', b'{"A":7}', '{"A":8}'.encode("utf-16-le"),
    '{"A":8}'.encode("utf-32-le"), b'{', b'{}', b'', b'[9]', b'\xef\xbb\xbf{"A":10}', b'{"T":"' + b"y" * 70_000 + b'"}',
    b'{"A":11,"T":"\u00e9"}', b'{"A":1e2,"M":{"k":1}}',
)  # fmt: skip


def test_a_json_record_is_read_the_same_whatever_was_read_before(spark: SparkSession) -> None:
    """A parser is restarted for the next record (jvm/JsonParsers.scala): nothing of a record is left in it."""
    columns = parse_columns("A INT, M MAP<STRING, INT>, T STRING")

    def new_codec() -> RecordCodec:
        return RecordCodec(spark, spec(Serde("JSON"), columns), columns)

    def result(codec: RecordCodec, text: bytes) -> object:
        try:
            return codec.decode(text)
        except UnreadableRecord as refused:
            return str(refused)

    alone = {text: result(new_codec(), text) for text in JSON_TEXTS}
    assert alone[b'{"A":7}'] == {"A": 7, "M": None, "T": None}
    assert "byte 5" in str(alone[b'{"A":x}'])
    codec = new_codec()
    for before in JSON_TEXTS:
        for text in JSON_TEXTS:
            result(codec, before)
            assert result(codec, text) == alone[text], before


def test_names_of_members_that_are_data_are_read_like_any(spark: SparkSession) -> None:
    """Parsers keep the names that they have met, until there are too many (jvm/JsonParsers.scala)."""
    columns = parse_columns("A INT, M MAP<STRING, INT>, T STRING")
    codec = RecordCodec(spark, spec(Serde("JSON"), columns), columns)
    for n in range(1_500):
        record = {f"x{n}": {f"y{n}": [{f"z{n}": n}]}, "a": n, "M": {f"k{n}": n, "k": 1}, "T": {f"t{n}": n}}
        text = f'{{"t{n}":{n}}}'
        assert codec.decode(json.dumps(record).encode()) == {"A": n, "M": {f"k{n}": n, "k": 1}, "T": text}
