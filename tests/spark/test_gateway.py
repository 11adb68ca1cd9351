"""Py4J's connections: an answer of Java that is longer than 8 KB is not held back."""

import threading
from typing import Any

from pyspark.sql import SparkSession

from millstream.spark import jvm


def test_the_answers_of_all_connections_leave_at_once(spark: SparkSession) -> None:
    delayed = [_connections(spark)]
    thread = threading.Thread(target=lambda: delayed.append(_connections(spark)))
    thread.start()
    thread.join()
    assert [len(connections) > 0 and all(connections) for connections in delayed] == [True, True]
    assert len(delayed[1]) > len(delayed[0]), "the thread did not open a connection of its own"


def test_a_connection_that_is_closing_is_left_alone(spark: SparkSession) -> None:
    """It is still among the gateway's connections, and has no socket any more."""
    opened: list[Any] = []
    thread = threading.Thread(target=lambda: opened.extend(_all_connections(spark)))
    thread.start()
    thread.join()
    opened[-1].shutdown()
    assert opened[-1].getSocket() is None
    jvm.module(spark, "PromptGateway").connectionStarted(opened[-1])


def _connections(spark: SparkSession) -> list[bool]:
    """For each open connection of the gateway's server, whether its socket sends at once (TCP_NODELAY)."""
    sockets = [connection.getSocket() for connection in _all_connections(spark)]
    return [bool(socket.getTcpNoDelay()) for socket in sockets if socket is not None and not socket.isClosed()]


def _all_connections(spark: SparkSession) -> list[Any]:
    context = spark.sparkContext
    assert context._gateway is not None
    server: Any = context._gateway.java_gateway_server
    field = jvm.java_class(spark, "java.lang.Class").forName("py4j.GatewayServer").getDeclaredField("connections")
    field.setAccessible(True)
    return list(field.get(server))
