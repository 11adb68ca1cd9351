package org.apache.spark.sql.millstream

import java.lang.management.ManagementFactory

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode

/** The figures of the driver's JVM and of the queries that run, in one JSON text: one call over the gateway. */
object ServerFigures {
  private val mapper = new ObjectMapper

  /** {"queries": {"Q": see Counts.json}, "jvm": {"heapUsed": …, "gc": {"G1 Young Generation": {"count", "ms"}}, …}} */
  def json(): String = {
    val root = mapper.createObjectNode
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
