"""The files of tests/formats/protos: schemas with the columns they translate to, and the row of an empty message."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millstream.catalog.schemas import SchemaText


@dataclass(frozen=True)
class ProtoCase:
    """A .proto file; `columns` are its lines `// columns:`, `absent` those of `// absent:`."""

    name: str
    schema: SchemaText
    columns: str
    absent: dict[str, Any]

    def __str__(self) -> str:
        return self.name


def _case(file: Path) -> ProtoCase:
    text = file.read_text()
    columns, absent = (_comments(text, f"// {word}:") for word in ("columns", "absent"))
    return ProtoCase(file.stem, SchemaText("PROTOBUF", text), columns, json.loads(absent))


def _comments(text: str, prefix: str) -> str:
    return " ".join(line.removeprefix(prefix).strip() for line in text.splitlines() if line.startswith(prefix))


CASES = [_case(file) for file in sorted((Path(__file__).parents[1] / "formats" / "protos").glob("*.proto"))]
