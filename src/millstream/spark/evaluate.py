"""Evaluates expressions and narrow plans in the driver's JVM, without a Spark job."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark

from millstream.formats.client import AWAY
from millstream.formats.spec import document_of
from millstream.model.types import SqlType
from millstream.spark import jvm
from millstream.spark.types import from_wire, spark_type, wire_json, wire_writer


class EvaluationFailed(ValueError):
    """An expression threw an exception; the text is its message."""


@contextmanager
def failures() -> Iterator[None]:
    """Converts exceptions that Java throws in the block to EvaluationFailed."""
    try:
        yield
    except Py4JJavaError as error:
        thrown = error.java_exception
        hint = f"\n  hint: {AWAY}" if jvm.is_registry_away(thrown) else ""
        raise EvaluationFailed(f"{thrown.getMessage()}{hint}") from error
    except PySparkException as error:
        raise EvaluationFailed(str(error)) from error


class Evaluator:
    """The steps between `leaf` frames and another frame, ready to be applied to rows; thread-safe.

    Python values are as types.wire_writer has them. A frame with folds keeps its states between calls. Expressions are
    `compiled` to Java, as in Spark's tasks, or interpreted, which is faster for few rows: compiling may take a second.
    Folds continue with the states of `before`, whose frame has the same folds and which must no longer be called.
    The constructor and calls raise EvaluationFailed if an expression throws that no guard catches.
    """

    def __init__(
        self,
        frame: DataFrame,
        source: Sequence[SqlType],
        result: Sequence[SqlType],
        compiled: bool = True,
        before: "Evaluator | None" = None,
    ) -> None:
        self._writers, self._result = [wire_writer(type) for type in source], result
        module = jvm.module(frame.sparkSession, "Eval")
        # Spark computes expressions without columns already here.
        with failures():
            earlier = None if before is None else before._eval
            self._eval: Any = module.of(jvm.java_frame(frame), _columns(source), _columns(result), compiled, earlier)

    def __call__(self, rows: Sequence[Sequence[Any]], leaves: Sequence[int] = ()) -> list[list[tuple[Any, ...]]]:
        """For each row, its output rows: one by a projection, any number through filters, generators and folds.

        `leaves` has, for each row, the leaf at which it enters, counted from the left of the frame's unions (default
        0).
        """
        wire = [[write(v) for write, v in zip(self._writers, row, strict=True)] for row in rows]
        answer = self.in_json(wire_json(wire), bytes(leaves))
        return [[self._row(output) for output in group] for group in json.loads(answer, parse_float=Decimal)]

    def in_json(self, rows: bytes, leaves: bytes = b"") -> bytes:
        """The same for an array of rows to an array of arrays of rows, arrays of values in wire form."""
        with failures():
            return jvm.bytes_of(self._eval.run(rows, leaves))

    def _row(self, wire: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(from_wire(v, t) for v, t in zip(wire, self._result, strict=True))


def _columns(types: Sequence[SqlType]) -> str:
    return json.dumps([{"name": f"C{i}", "type": document_of(t)} for i, t in enumerate(types)])


def leaf(session: SparkSession, columns: Sequence[tuple[str, SqlType]]) -> DataFrame:
    """A frame without rows, with these columns, to build an Evaluator's steps on."""
    fields = [spark.StructField(name, spark_type(type)) for name, type in columns]
    schema = jvm.java_schema(session, spark.StructType(fields))
    return jvm.python_frame(session, jvm.module(session, "Eval").leaf(jvm.java_session(session), schema))


def evaluate(session: SparkSession, texts: Sequence[str], types: Sequence[SqlType]) -> tuple[Any, ...]:
    """The values of Spark SQL expressions without columns, of the given types.

    Raises EvaluationFailed if one throws, pyspark's AnalysisException if one is not valid.
    """
    aliased = [f"{text} as C{i}" for i, text in enumerate(texts)]
    return Evaluator(leaf(session, []).selectExpr(*aliased), [], types, compiled=False)([[]])[0][0]
