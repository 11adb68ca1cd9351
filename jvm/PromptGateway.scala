package org.apache.spark.sql.millstream

import java.net.SocketException
import java.util.{List => JavaList}

import org.apache.commons.lang3.reflect.FieldUtils
import py4j.{DefaultGatewayServerListener, GatewayServer, Py4JServerConnection}

/**
 * Makes Py4J send its answers to Python at once. It writes an answer in pieces of 8 KB, and by default the system holds
 * back each piece until the one before is acknowledged (Nagle's algorithm), which Python's side does after 40 ms.
 */
object PromptGateway extends DefaultGatewayServerListener {
  /** Set this up for the connections that `gateway` has, and for all later ones; more than once has no effect. */
  def apply(gateway: GatewayServer): Unit = {
    gateway.addListener(this)
    open(gateway).foreach(connectionStarted)
  }

  override def connectionStarted(connection: Py4JServerConnection): Unit =
    try Option(connection.getSocket).foreach(_.setTcpNoDelay(true)) // a closed connection has none
    catch { case _: SocketException => } // it was closed meanwhile

  /** The connections of a gateway, which Py4J does not publish; others may come and go in these moments. */
  private def open(gateway: GatewayServer): Seq[Py4JServerConnection] =
    FieldUtils.readField(gateway, "connections", true).asInstanceOf[JavaList[Py4JServerConnection]]
      .toArray(Array.empty[Py4JServerConnection]).filter(_ != null).toSeq
}
