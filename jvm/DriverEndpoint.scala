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
 * What the tasks of a query share across the JVMs of a cluster is in the driver, and executors ask for it by name:
 *
 *   executor                                     driver
 *   whenAnswered("order", run, known)        →   QueryRuns.onOrder: answered when the run has another order
 *   whenAnswered("run end", run)             →   RunScope.onEnd: answered when the run has ended
 *   ask("fence", query)                      →   Fences.remaining
 *   ask("barrier", id), "barrier progress"   →   TableBootstrapBarriers.ends, report
 *   ask("stream time", run, key)             →   RunScope.time; tell(…, time) → RunScope.keepTime
 *   ask("counts", query, …)                  →   Counts.report; tell("failure", …) → Counts.reportFailure
 *   ask("transaction slot", run, executor)   →   Transactions.slot; ask("transaction", run, …) → Transactions.join
 *
 * Arguments and answers are numbers, texts and arrays of them: Spark's RPC has the classes of Spark and Scala alone in an
 * executor. Those of `spark.jars` are known to tasks only, and a message that cannot be read costs the executor its
 * driver. Messages of one executor are handled in the order in which they were sent.
 */
object DriverEndpoint extends Logging {
  private val Name = "millstream"
  /** How long an executor waits for an answer; and for one that comes when something happens, before it asks again. */
  private val Prompt = new RpcTimeout(30.seconds, "millstream.driver")
  private val Patient = new RpcTimeout(1.hour, "millstream.driver")
  @volatile private var opened, reached: RpcEnv = _
  @volatile private var driver: RpcEndpointRef = _
  // Not on the thread that brings answers: to ask again waits for one. One thread, for answers to be used in the order in
  // which they were given: a stream that is let go because its run ends has heard of the end before.
  private lazy val answers = ExecutionContext.fromExecutor(ThreadUtils.newDaemonSingleThreadExecutor("driver answers"))

  /** Whether tasks of this JVM have their driver in another one. */
  def isRemote: Boolean = {
    val env = SparkEnv.get
    env != null && env.executorId != SparkContext.DRIVER_IDENTIFIER
  }

  /** On the driver of a cluster: answer from now on. */
  def open(context: SparkContext): Unit = if (!context.isLocal) synchronized {
    val env = context.env.rpcEnv
    if (opened ne env) {
      env.setupEndpoint(Name, new Answers(env))
      opened = env
    }
  }

  /** On an executor: the driver's answer, waited for. Throws where there is none. */
  def ask[A: ClassTag](arguments: Any*): A = reference.askSync[A](arguments.toList, Prompt)

  /** On an executor: call `use` with the driver's answer, or with None where there is none. */
  def onAnswer[A: ClassTag](arguments: Any*)(use: Option[A] => Unit): Unit =
    asked[A](arguments, Prompt).onComplete(answer => use(answer.toOption))(answers)

  /** On an executor: call `use` with the answer to a question about the future, or with None where the driver is gone. */
  def whenAnswered[A: ClassTag](arguments: Any*)(use: Option[A] => Unit): Unit =
    asked[A](arguments, Patient).onComplete {
      case Success(answer) => use(Some(answer))
      case Failure(_: TimeoutException) => whenAnswered[A](arguments: _*)(use)
      case Failure(why) =>
        logWarning(s"the driver does not answer ${arguments.mkString(" ")}", why)
        use(None)
    }(answers)

  /** On an executor: tell the driver; nobody knows whether it has heard. */
  def tell(arguments: Any*): Unit = reference.send(arguments.toList)

  private def asked[A: ClassTag](arguments: Seq[Any], patience: RpcTimeout): Future[A] =
    Future.unit.flatMap(_ => reference.ask[A](arguments.toList, patience))(answers)

  private def reference: RpcEndpointRef = {
    val env = SparkEnv.get
    if (reached ne env.rpcEnv) synchronized {
      driver = RpcUtils.makeDriverRef(Name, env.conf, env.rpcEnv)
      reached = env.rpcEnv
    }
    driver
  }

  private class Answers(override val rpcEnv: RpcEnv) extends ThreadSafeRpcEndpoint {
    override def receiveAndReply(context: RpcCallContext): PartialFunction[Any, Unit] = {
      case List("order", run: String, known: Int) =>
        QueryRuns.onOrder(run, known, order => context.reply(QueryRun.wire(order)))
      case List("run end", run: String) => RunScope.onEnd(run, () => context.reply(true))
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
      case List("failure", query: String, why: String) => Counts.reportFailure(query, why)
    }
  }
}
