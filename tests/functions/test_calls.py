"""Every line of calls/*.txt: a call, its type, and what it gives."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from functions.calling import answers, asked

FOLDING = ",".join(
    f"org.apache.spark.sql.catalyst.optimizer.{rule}"
    for rule in ("ConstantFolding", "NullPropagation", "ConvertToLocalRelation")
)
FILES = sorted((Path(__file__).parent / "calls").glob("*.txt"))


@pytest.mark.parametrize("where", ["in tasks", "while planning"])
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_what_calls_give(path: Path, where: str, spark: SparkSession) -> None:
    spark.conf.set("spark.sql.optimizer.excludedRules", FOLDING if where == "in tasks" else "")
    lines = asked(path)
    given = answers([call for call, _ in lines], spark)
    wrong = [f"{call} => {a}, not {wanted}" for (call, wanted), a in zip(lines, given, strict=True) if str(a) != wanted]
    assert wrong == []
