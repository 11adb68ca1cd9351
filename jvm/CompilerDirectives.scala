package org.apache.spark.sql.millstream

import java.lang.management.ManagementFactory
import javax.management.{InstanceNotFoundException, ObjectName}

/**
 * Excludes methods from compilation by HotSpot's optimizing compiler, C2 (compiler-directives.json). The command-line
 * option for that prints a line on the user's terminal.
 */
object CompilerDirectives {
  private val Bean = new ObjectName("com.sun.management:type=DiagnosticCommand")

  /** Add the directives of a file, in HotSpot's JSON; the answer is HotSpot's. Another Java has no such compiler. */
  def add(file: String): String =
    try {
      val (arguments, types) = (Array[AnyRef](Array(file)), Array(classOf[Array[String]].getName))
      ManagementFactory.getPlatformMBeanServer.invoke(Bean, "compilerDirectivesAdd", arguments, types).toString
    } catch { case _: InstanceNotFoundException => "" }
}
