package org.apache.spark.sql.millstream

import java.lang.management.ManagementFactory

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.ObjectNode

/** The metrics of the driver's JVM and of all running queries as one JSON text, so that Python needs only one call. */
object ServerFigures {
  /**
   * {"queries": {"CSAS_BIG_1": Counts.json, …}, "jvm": {"heapUsed": …, "heapCommitted": …, "heapMax": …, "threads": …,
   * "uptime": …, "gc": {"G1 Young Generation": {"count": …, "ms": …}}}}: heap in bytes, times in ms.
   */
  def json(): String = {
    val root = JsonTrees.newObject
    root.set[ObjectNode]("queries", Counts.jsonOfAll())
    val jvm = root.putObject("jvm")
    val heap = ManagementFactory.getMemoryMXBean.getHeapMemoryUsage
    jvm.put("heapUsed", heap.getUsed).put("heapCommitted", heap.getCommitted).put("heapMax", heap.getMax)
    jvm.put("threads", ManagementFactory.getThreadMXBean.getThreadCount)
    jvm.put("uptime", ManagementFactory.getRuntimeMXBean.getUptime)
    val gc = jvm.putObject("gc")
    ManagementFactory.getGarbageCollectorMXBeans.asScala.foreach { collector =>
      gc.putObject(collector.getName).put("count", collector.getCollectionCount).put("ms", collector.getCollectionTime)
    }
    root.toString
  }
}
