"""The figures that the driver's JVM keeps: its own, and those of each query that runs (jvm/ServerFigures.scala)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from millstream.spark import jvm


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of the JVM, and of each query that runs in it by its name in Spark."""

    jvm: Mapping[str, Any]
    queries: Mapping[str, Mapping[str, Any]]


def read(session: SparkSession) -> Figures:
    """The figures now, in one call over the gateway; none where the JVM does not answer."""
    try:
        told = json.loads(jvm.module(session, "ServerFigures").json()) if jvm.alive(session) else {}
    except Py4JError:
        told = {}
    return Figures(told.get("jvm", {}), told.get("queries", {}))
