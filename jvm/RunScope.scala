package org.apache.spark.sql.millstream

import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue}
import java.util.concurrent.atomic.AtomicLong

import scala.util.control.NonFatal

import org.apache.logging.log4j.spi.AbstractLoggerAdapter
import org.slf4j.LoggerFactory

import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.streaming.state.{StateStore, StateStoreProviderId}
import org.apache.spark.util.ThreadUtils

/**
 * What the tasks of one run of a query share in this JVM from batch to batch: stream time, punctuations, cached states,
 * state stores. The driver drops it when Spark reports the run's end (SessionSetup), and notifies the executors in
 * other JVMs.
 */
object RunScope extends Logging {
  private final class Scope {
    val values = new ConcurrentHashMap[Any, AnyRef]
    val stores: java.util.Set[StateStoreProviderId] = ConcurrentHashMap.newKeySet[StateStoreProviderId]
  }

  /** A run on the driver: the stream times that its tasks have reported, by key, and the callbacks for its end. */
  private final class LiveRun {
    val times = new ConcurrentHashMap[String, AtomicLong]
    val waiting = new ConcurrentLinkedQueue[() => Unit]
  }

  private val scopes = new ConcurrentHashMap[String, Scope]
  private val live = new ConcurrentHashMap[String, LiveRun]
  /** A store is closed when its last task has released it, for which Spark waits up to a minute. */
  private lazy val closing = ThreadUtils.newDaemonSingleThreadExecutor("state store end")

  /** The id of the current task's run. Spark runs all jobs of a run in a job group that has its id. */
  def currentRun: String = String.valueOf(TaskContext.get().getLocalProperty(SparkContext.SPARK_JOB_GROUP_ID))

  /** The shared values of the current task's run. */
  def values: ConcurrentHashMap[Any, AnyRef] = current.values

  /**
   * Have a state store of the current task's run closed when the run ends. Spark would close it at its next
   * maintenance, up to a minute later; until then its files stay open.
   */
  def closeAtEnd(store: StateStoreProviderId): Unit = current.stores.add(store)

  private def current: Scope =
    scopes.computeIfAbsent(currentRun, run => {
      if (DriverEndpoint.isRemote) DriverEndpoint.whenAnswered[Boolean]("run end", run)(_ => drop(run))
      new Scope
    })

  private def drop(run: String): Unit = Option(scopes.remove(run)).foreach { scope =>
    scope.stores.forEach(store => closing.execute(() => close(store)))
  }

  private def close(store: StateStoreProviderId): Unit = {
    try StateStore.removeFromLoadedProvidersAndClose(store)
    catch { case NonFatal(failure) => logWarning(s"a state store of a run that has ended stays open: $store", failure) }
    removeLoggers(store.toString)
  }

  /** Removes the loggers that Spark names after a state store, which would live as long as the JVM. */
  private def removeLoggers(store: String): Unit = LoggerFactory.getILoggerFactory match {
    case factory: AbstractLoggerAdapter[_] =>
      factory.getLoggerContexts.forEach { context =>
        factory.getLoggersInContext(context).keySet.removeIf(_.endsWith(store))
      }
    case _ =>
  }

  /** The shared value of a key in the current task's run; created by `make` if there is none. */
  def shared[A <: AnyRef](key: Any)(make: => A): A = values.computeIfAbsent(key, _ => make).asInstanceOf[A]

  /**
   * A time that only grows, shared by all tasks of the run. A task that moves to another executor between two batches
   * continues with the time that its predecessor has reported to the driver.
   */
  def sharedTime(key: String): AtomicLong =
    if (!DriverEndpoint.isRemote) shared(key)(new AtomicLong(Long.MinValue))
    else {
      val run = currentRun
      val time = shared(key)(new AtomicLong(DriverEndpoint.ask[Long]("stream time", run, key)))
      TaskContext.get().addTaskCompletionListener[Unit](_ => DriverEndpoint.send("stream time", run, key, time.get))
      time
    }

  /** On the driver: register a run, by the id that Spark gave it, when it begins. */
  def begin(run: String): Unit = live.put(run, new LiveRun)

  /** Drop a run that has ended. */
  def end(run: String): Unit = {
    drop(run)
    Option(live.remove(run)).foreach(ended => notifyEnded(ended.waiting))
  }

  /** On the driver: call `ended` when the run has ended; at once if there is no such run. */
  def onEnd(run: String, ended: () => Unit): Unit = {
    val waiting = Option(live.get(run)).fold(new ConcurrentLinkedQueue[() => Unit])(_.waiting)
    waiting.add(ended)
    if (!live.containsKey(run)) notifyEnded(waiting)
  }

  private def notifyEnded(waiting: ConcurrentLinkedQueue[() => Unit]): Unit =
    Iterator.continually(waiting.poll()).takeWhile(_ != null).foreach(_.apply())

  /** On the driver: the time that tasks of a run have reported under a key; Long.MinValue if none. */
  def time(run: String, key: String): Long =
    Option(live.get(run)).flatMap(r => Option(r.times.get(key))).fold(Long.MinValue)(_.get)

  /** On the driver: record the time that a task has reached. */
  def keepTime(run: String, key: String, time: Long): Unit = Option(live.get(run)).foreach { liveRun =>
    liveRun.times.computeIfAbsent(key, _ => new AtomicLong(time)).accumulateAndGet(time, (a, b) => Math.max(a, b))
  }

  /** The number of shared values of a run. */
  def size(run: String): Int = Option(scopes.get(run)).fold(0)(_.values.size)
}
