package org.apache.spark.sql.millstream

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.TimeUnit.DAYS

import org.apache.spark.{SparkContext, SparkEnv, TaskContext}

/**
 * What the tasks of one run of a query share in this JVM, from batch to batch: stream time, punctuations, cached
 * states. The driver drops it when Spark reports the run's end (SessionSetup). An executor in another JVM hears of no
 * end: it drops runs of which no task has begun for a day when it meets a new one.
 */
object RunScope {
  private final class Scope {
    val values = new ConcurrentHashMap[Any, AnyRef]
    @volatile var used: Long = System.nanoTime
  }

  private val scopes = new ConcurrentHashMap[String, Scope]

  /** The shared values of the current task's run, by keys of their users. */
  def values: ConcurrentHashMap[Any, AnyRef] = {
    // Spark runs all jobs of a run in a job group that has the run's id.
    val run = String.valueOf(TaskContext.get().getLocalProperty(SparkContext.SPARK_JOB_GROUP_ID))
    val scope = scopes.computeIfAbsent(run, _ => { dropUnused(); new Scope })
    scope.used = System.nanoTime
    scope.values
  }

  /** The value of the current task's run under a key, made where there is none. */
  def shared[A <: AnyRef](key: Any)(make: => A): A = values.computeIfAbsent(key, _ => make).asInstanceOf[A]

  /** A run, by the id that Spark gave it, has ended. */
  def end(run: String): Unit = scopes.remove(run)

  /** How many values are held of a run. */
  def size(run: String): Int = Option(scopes.get(run)).fold(0)(_.values.size)

  private def dropUnused(): Unit =
    if (SparkEnv.get.executorId != SparkContext.DRIVER_IDENTIFIER)
      scopes.forEach((run, scope) => if (System.nanoTime - scope.used > DAYS.toNanos(1)) scopes.remove(run, scope))
}
