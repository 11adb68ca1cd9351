package org.apache.spark.sql.millstream

import java.util.concurrent.TimeoutException

import scala.concurrent.{ExecutionContext, Future}
import scala.concurrent.duration._
import scala.reflect.ClassTag
import scala.util.{Failure, Success}

import org.apache.spark.{SparkContext, SparkEnv}
import org.apache.spark.internal.Logging
import org.apache.spark.rpc.{RpcCallContext, RpcEndpointRef, RpcEnv, RpcTimeout, ThreadSafeRpcEndpoint}
import org.apache.spark.util.{RpcUtils, ThreadUtils}

/**
 * Remote calls from executors to the driver. What the tasks of a query share across the JVMs of a cluster is kept in
 * the driver, and executors request it by name:
 *
 *   whenAnswered("order", run, known)        →   QueryRuns.onOrder: answered when the run gets a new order
 *   whenAnswered("batch end", run, batch)    →   QueryRuns.onBatchEnd: answered when the batch is to end
 *   ask("record", run, batch)                →   QueryRuns.onRecord: a batch has its first record
 *   whenAnswered("run end", run)             →   RunScope.onEnd: answered when the run has ended
 *   ask("fence", query)                      →   Fences.remaining
 *   ask("barrier", id), "barrier progress"   →   TableBootstrapBarriers.ends, report
 *   ask("stream time", run, key)             →   RunScope.time; send(…, time) → RunScope.keepTime
 *   ask("counts", query, …)                  →   Counts.report
 *   send("failure", run, why)                →   QueryRuns.onFailure: the run is to fail
 *   ask("time")                              →   SteadyClock.getTimeMillis
 *   ask("transaction slot", run, executor)   →   Transactions.slot; ask("transaction", run, …) → Transactions.join
 *
 * Arguments and answers are numbers, texts and arrays of them. In an executor Spark's RPC can load only the classes of
 * Spark and Scala: those of `spark.jars` are visible to tasks only, and a message that cannot be deserialized closes
 * the executor's connection to its driver. Messages of one executor are handled in the order in which they were sent.
 */
object DriverEndpoint extends Logging {
  private val Name = "millstream"
  /** How long an executor waits for an answer that the driver gives at once. */
  private val AnswerTimeout = new RpcTimeout(30.seconds, "millstream.driver")
  /** How long it waits for one that the driver gives at some event, before it asks again. */
  private val EventTimeout = new RpcTimeout(1.hour, "millstream.driver")
  /** The environments in which this JVM answers, as the driver, and in which `driver` is valid, as an executor. */
  @volatile private var servedEnv, driverEnv: RpcEnv = _
  @volatile private var driver: RpcEndpointRef = _
  // Answers are handled by a thread of their own, since a handler may ask again and wait for that answer. It is one
  // thread, so that answers are handled in the order in which they came: a stream that is released because its run ends
  // must have seen the end of the run first.
  private lazy val answers = ExecutionContext.fromExecutor(ThreadUtils.newDaemonSingleThreadExecutor("driver answers"))

  /** True if this JVM is an executor whose driver is another JVM. */
  def isRemote: Boolean = {
    val env = SparkEnv.get
    env != null && env.executorId != SparkContext.DRIVER_IDENTIFIER
  }

  /** On the driver of a cluster: start to answer. */
  def open(context: SparkContext): Unit = if (!context.isLocal) synchronized {
    val env = context.env.rpcEnv
    if (servedEnv ne env) {
      env.setupEndpoint(Name, new Answers(env))
      servedEnv = env
    }
  }

  /** On an executor: send a request and wait for the driver's answer. Throws if there is none. */
  def ask[A: ClassTag](arguments: Any*): A = reference.askSync[A](arguments.toList, AnswerTimeout)

  /** On an executor: call `use` with the driver's answer, or with None if there is none. */
  def onAnswer[A: ClassTag](arguments: Any*)(use: Option[A] => Unit): Unit =
    request[A](arguments, AnswerTimeout).onComplete(answer => use(answer.toOption))(answers)

  /** On an executor: call `use` when the driver answers, at some later event; with None if the driver is lost. */
  def whenAnswered[A: ClassTag](arguments: Any*)(use: Option[A] => Unit): Unit =
    request[A](arguments, EventTimeout).onComplete {
      case Success(answer) => use(Some(answer))
      case Failure(_: TimeoutException) => whenAnswered[A](arguments: _*)(use)
      case Failure(why) =>
        logWarning(s"the driver does not answer ${arguments.mkString(" ")}", why)
        use(None)
    }(answers)

  /** On an executor: send a message to the driver, without an answer or a guarantee of delivery. */
  def send(arguments: Any*): Unit = reference.send(arguments.toList)

  private def request[A: ClassTag](arguments: Seq[Any], timeout: RpcTimeout): Future[A] =
    Future.unit.flatMap(_ => reference.ask[A](arguments.toList, timeout))(answers)

  private def reference: RpcEndpointRef = {
    val env = SparkEnv.get
    if (driverEnv ne env.rpcEnv) synchronized {
      driver = RpcUtils.makeDriverRef(Name, env.conf, env.rpcEnv)
      driverEnv = env.rpcEnv
    }
    driver
  }

  private class Answers(override val rpcEnv: RpcEnv) extends ThreadSafeRpcEndpoint {
    override def receiveAndReply(context: RpcCallContext): PartialFunction[Any, Unit] = {
      case List("order", run: String, known: Int) =>
        QueryRuns.onOrder(run, known, order => context.reply((order.rank, order.reason)))
      case List("batch end", run: String, batch: Int) =>
        QueryRuns.onBatchEnd(run, batch, () => context.reply(true))
      case List("record", run: String, batch: Int) =>
        QueryRuns.onRecord(run, batch)
        context.reply(true)
      case List("run end", run: String) => RunScope.onEnd(run, () => context.reply(true))
      case List("time") => context.reply(SteadyClock.getTimeMillis())
      case List("fence", query: String) => context.reply(Fences.remaining(query))
      case List("barrier", id: String) => context.reply(TableBootstrapBarriers.ends(id))
      case List("barrier progress", id: String, reporter: String, read: Array[Long], counts: Array[Long]) =>
        context.reply(TableBootstrapBarriers.report(id, reporter, read, counts))
      case List("stream time", run: String, key: String) => context.reply(RunScope.time(run, key))
      case List("counts", query: String, sums: Array[Long], last: Long, latency: Array[Long], partitions: Array[String],
          next: Array[Long], read: Array[Long]) =>
        context.reply(Counts.report(query, CountsReport(sums, latency, partitions, next, read), last))
      case List("transaction slot", run: String, executor: String) => context.reply(Transactions.slot(run, executor))
      case List("transaction", run: String, id: String, producer: Long, epoch: Int) =>
        context.reply(Transactions.join(run, OpenTransaction(id, producer, epoch.toShort)))
    }

    override def receive: PartialFunction[Any, Unit] = {
      case List("stream time", run: String, key: String, time: Long) => RunScope.keepTime(run, key, time)
      case List("failure", run: String, why: String) => QueryRuns.onFailure(run, why)
    }
  }
}
