"""Every line of calls/*.txt: a call, its type, and what it gives."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from functions.calling import answers

FOLDING = ",".join(
    f"org.apache.spark.sql.catalyst.optimizer.{rule}"
    for rule in ("ConstantFolding", "NullPropagation", "ConvertToLocalRelation")
)
FILES = sorted((Path(__file__).parent / "calls").glob("*.txt"))


def lines(path: Path) -> list[tuple[str, str]]:
    """The calls of a file and what they give."""
    texts = (line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#"))
    return [(call, wanted) for call, wanted in (text.rsplit(" => ", 1) for text in texts)]


@pytest.mark.parametrize("where", ["in tasks", "while planning"])
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_what_calls_give(path: Path, where: str, spark: SparkSession) -> None:
    spark.conf.set("spark.sql.optimizer.excludedRules", FOLDING if where == "in tasks" else "")
    asked = lines(path)
    given = answers([call for call, _ in asked], spark)
    wrong = [f"{call} => {a}, not {wanted}" for (call, wanted), a in zip(asked, given, strict=True) if str(a) != wanted]
    assert wrong == []
