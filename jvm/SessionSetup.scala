package org.apache.spark.sql.millstream

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.objects.Invoke
import org.apache.spark.sql.streaming.StreamingQueryListener
import org.apache.spark.sql.streaming.StreamingQueryListener._
import org.apache.spark.sql.types.{DataType, LongType}
import org.apache.spark.util.SignalUtils

/** A function that SQL text can call: its name, and a builder of its expression from the argument expressions. */
case class SqlFunction(name: String, build: Seq[Expression] => Expression)

/** Builders of expressions. */
object SqlFunction {
  /** The value of an argument that is a constant text. */
  def text(constant: Expression): String = String.valueOf(constant.eval())

  /** The value of an argument that is a constant INT. */
  def int(constant: Expression): Int = constant.eval().asInstanceOf[Int]

  /**
   * A call of a method of an object; the object is serialized with the plan, one copy a task. Spark neither repeats nor
   * removes the call.
   */
  def method(owner: AnyRef, name: String, result: DataType, args: Seq[Expression]): Expression =
    Invoke(Literal.fromObject(owner), name, result, args, returnNullable = false, isDeterministic = false)
}

/**
 * An expression that Spark evaluates exactly where a query has it, once for each row: Spark does not compute it while
 * it plans the query, repeat it in a filter and in the projection above, move it, or leave it out.
 */
trait EvaluatedOnce extends Expression {
  override lazy val deterministic: Boolean = false
  override def foldable: Boolean = false
}

/** Sets up a session: registers the ms_ functions, which expr("ms_…(…)") then finds, and a listener for query runs. */
object SessionSetup {
  import SqlFunction.{int, method, text}

  private val functions: Seq[SqlFunction] = Codec.functions ++ Faults.functions ++ Functions.all ++
    RowBudget.functions ++ TableBootstrapBarriers.functions ++ StreamTimePunctuation.functions ++
    PythonFunctions.functions ++ Seq(
      SqlFunction("ms_let", { case Seq(value, function) => Let(value, function) }),
      SqlFunction("ms_merge_descending", { case Seq(values, others, k) => MergeDescending(values, others, int(k)) }),
      SqlFunction("ms_row_time", { case Seq(time) => method(RowTime(), "reached", LongType, Seq(time)) }),
      SqlFunction("ms_send", Send(_)),
      SqlFunction("ms_stream_time", { case Seq(partition, time, id) =>
        method(StreamTime(text(id)), "advance", LongType, Seq(partition, time))
      }))

  /** Set up the session; on the driver of a cluster, also begin to answer executors. */
  def apply(session: SparkSession): Unit = {
    functions.foreach(SparkInternals.register(session, _))
    session.streams.addListener(RunListener)
    SparkInternals.setBatchClock()
    DriverEndpoint.open(session.sparkContext)
    // systemd and `timeout` signal a service's whole group. The Python process ends the queries, and then this JVM.
    SignalUtils.register("TERM")(true)
  }

  /** Records the batches that named queries commit, and drops the shared values of a run when it ends. */
  private object RunListener extends StreamingQueryListener {
    override def onQueryStarted(event: QueryStartedEvent): Unit = RunScope.begin(event.runId.toString)
    override def onQueryProgress(event: QueryProgressEvent): Unit =
      Option(event.progress.name).flatMap(Counts.running).foreach(_.commit(event.progress))
    override def onQueryTerminated(event: QueryTerminatedEvent): Unit = RunScope.end(event.runId.toString)
  }
}
