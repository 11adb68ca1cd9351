package org.apache.spark.sql.millstream

import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, SparkPlugin}

/**
 * Lets tasks yield to the other threads: Java's compilers, the producers, the REST API. On few cores the tasks of a new
 * query take the processor time that is needed to compile them (docs/design/014-start.md). Spark calls it on a task's
 * thread, which runs nothing but tasks. On Linux the lowest priority is a niceness of 4, and Java ignores priorities
 * without `TASK_PRIORITIES` (session_settings.py).
 */
final class TaskPriority extends SparkPlugin {
  override def driverPlugin: DriverPlugin = null

  override def executorPlugin: ExecutorPlugin = new ExecutorPlugin {
    override def onTaskStart(): Unit = Thread.currentThread.setPriority(Thread.MIN_PRIORITY)
  }
}
