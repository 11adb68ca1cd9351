"""Steps on a frame that Spark analyses together.

Spark analyses a DataFrame as soon as it is created, each time with the whole plan so far: of a query's ten steps that
takes most of the time in which it is planned. The steps of a LazyFrame are analysed once, when `frame` is called.
"""

import json
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from millstream.spark import jvm


class LazyFrame:
    """A plan and the steps to be done on its rows, written as Spark SQL; immutable.

    A mistake in a step is not known before `frame`, which raises pyspark's AnalysisException.
    """

    __slots__ = ("_plan", "_session", "_steps")

    def __init__(self, session: SparkSession, plan: Any, steps: tuple[tuple[str, ...], ...] = ()) -> None:
        """`plan` is a LogicalPlan of the JVM."""
        self._session, self._plan, self._steps = session, plan, steps

    @classmethod
    def of(cls, frame: DataFrame) -> "LazyFrame":
        """The rows of a DataFrame as a frame without steps."""
        session = frame.sparkSession
        return cls(session, jvm.module(session, "LazyFrames").of(jvm.java_frame(frame)))

    @property
    def session(self) -> SparkSession:
        """The session of the frame."""
        return self._session

    def select(self, *texts: str) -> "LazyFrame":
        """The rows with these columns, each an expression with its name: `a + b as c`."""
        return self._and("select", *texts)

    def where(self, condition: str) -> "LazyFrame":
        """The rows for which the condition is true."""
        return self._and("where", condition)

    def drop(self, *names: str) -> "LazyFrame":
        """The rows without the columns of these names."""
        return self._and("drop", *names)

    def another(self) -> "LazyFrame":
        """A leaf frame (evaluate.leaf) as another leaf of the same columns, for a plan that has several."""
        return LazyFrame(self._session, jvm.module(self._session, "LazyFrames").another(self._plan))

    def union(self, other: "LazyFrame") -> "LazyFrame":
        """The rows of both, which have the same columns."""
        module = jvm.module(self._session, "LazyFrames")
        return LazyFrame(self._session, module.union(self.plan(), other.plan()))

    def plan(self) -> Any:
        """The LogicalPlan of all steps, not analysed. Raises pyspark's ParseException."""
        if not self._steps:
            return self._plan
        module = jvm.module(self._session, "LazyFrames")
        return module.applied(jvm.java_session(self._session), self._plan, json.dumps(self._steps))

    def java_frame(self) -> Any:
        """The frame after all steps as the module's Java object. Raises pyspark's AnalysisException."""
        return jvm.module(self._session, "LazyFrames").frame(jvm.java_session(self._session), self.plan())

    def frame(self) -> DataFrame:
        """The frame after all steps. Raises pyspark's AnalysisException."""
        return jvm.python_frame(self._session, self.java_frame())

    def _and(self, *step: str) -> "LazyFrame":
        return LazyFrame(self._session, self._plan, (*self._steps, step))
