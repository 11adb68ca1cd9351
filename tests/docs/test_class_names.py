"""A class name has one meaning: no two classes of src/ and jvm/ have the same name."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODIFIER = r"(?:final|sealed|abstract|case|private|private\[\w+\])"
SCALA_CLASS = re.compile(rf"^\s*(?:{MODIFIER}\s+)*(?:class|trait)\s+(\w+)", re.M)
# The SQL types, and the codec of single records, exist in both languages and are the same thing in both.
SHARED = {"SqlType", "Array", "Decimal", "Map", "Struct", "RecordCodec", "TableImage", "TopicReplaced"}


def python_classes(text: str) -> Iterator[str]:
    """The names of all classes of a module, nested ones included."""
    return (node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef))


def class_names() -> Iterator[str]:
    for path in sorted(ROOT.glob("src/**/*.py")):
        yield from python_classes(path.read_text(encoding="utf-8"))
    for path in sorted(ROOT.glob("jvm/*.scala")):
        yield from SCALA_CLASS.findall(path.read_text(encoding="utf-8"))


def test_no_class_name_is_defined_twice() -> None:
    counts = Counter(class_names())
    assert {"StatementError", "FoldTask"} <= counts.keys()
    assert {name for name, count in counts.items() if count > 1} == SHARED


def test_a_second_class_of_one_name_is_reported() -> None:
    assert list(python_classes("class A:\n    class B: ...\nclass A: ...")) == ["A", "A", "B"]
    assert SCALA_CLASS.findall("final case class A(x: Int)\n  private[p] trait B\n") == ["A", "B"]
