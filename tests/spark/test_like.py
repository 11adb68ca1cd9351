"""LIKE against the regular expression that says what it means, over texts of few characters."""

import re
from itertools import product
from random import Random

from pyspark.sql import SparkSession

from millstream.model.types import BOOLEAN, STRING
from millstream.spark.evaluate import Evaluator, leaf

TEXTS = ["".join(letters) for size in range(6) for letters in product("a\nb", repeat=size)]
SOME = 4000


def expected(text: str, pattern: str) -> bool:
    """Whether the text fits; ! is the escape, and ends no pattern here."""
    parts = re.findall(r"!?[\s\S]", pattern)
    meanings = {"%": ".*", "_": "."}
    return re.fullmatch("".join(meanings.get(part, re.escape(part[-1])) for part in parts), text) is not None


def test_like_is_what_its_regular_expression_says(spark: SparkSession) -> None:
    random = Random(7)
    patterns = [
        "".join(random.choices(["a", "b", "\n", "%", "%", "_", "!%", "!_"], k=random.randrange(8))) for _ in range(SOME)
    ]
    rows = [(random.choice(TEXTS), pattern) for pattern in patterns]
    frame = leaf(spark, [("t", STRING), ("p", STRING)]).selectExpr("ms_like(t, p, '!')")
    results = [one for ((one,),) in Evaluator(frame, [STRING, STRING], [BOOLEAN], compiled=False)(rows)]
    wrong = [row for row, one in zip(rows, results, strict=True) if one is not expected(*row)]
    assert not wrong
    assert sum(results) > 50, "cases that fit are among them"
