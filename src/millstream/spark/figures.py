"""Reads the metrics of the driver's JVM and of the running queries (jvm/ServerFigures.scala)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from millstream.spark import jvm


@dataclass(frozen=True, slots=True)
class Figures:
    """The metrics of the JVM, and those of each running query by its Spark query name, in Counts.json's form."""

    jvm: Mapping[str, Any]
    queries: Mapping[str, Mapping[str, Any]]


def read(session: SparkSession) -> Figures:
    """The current metrics, in one call over the gateway; empty if the JVM does not answer."""
    try:
        document = json.loads(jvm.module(session, "ServerFigures").json()) if jvm.alive(session) else {}
    except Py4JError:
        document = {}
    return Figures(document.get("jvm", {}), document.get("queries", {}))


def forget(session: SparkSession, query: str) -> None:
    """Remove the metrics of a query that has ended."""
    jvm.module(session, "Counts").forget(query)
