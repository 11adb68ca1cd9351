package org.apache.spark.sql.millstream

import java.io.{BufferedOutputStream, DataInputStream, DataOutputStream, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.{Base64, Map => JavaMap}
import java.util.concurrent.{CompletableFuture, CompletionException, ConcurrentHashMap, ConcurrentLinkedDeque, TimeUnit}
import java.util.concurrent.TimeUnit.{MILLISECONDS, SECONDS}

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkEnv
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, GenericInternalRow}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.types.{DataType, StringType}
import org.apache.spark.util.ThreadUtils

/**
 * Functions written in Python. Each has processes of its own; a call is one synchronous round trip for one row.
 * docs/design/009 gives the reasons; src/millstream/udf is the Python side.
 */
object PythonFunctions {
  /** `ms_python(document, operation, arguments…)`; `operation` is one of udf/worker.py's call letters. */
  val functions: Seq[SqlFunction] = Seq(SqlFunction("ms_python", { case document +: operation +: arguments =>
    PythonCall(SqlFunction.text(document), SqlFunction.text(operation).charAt(0), arguments)
  }))

  private val Setting = "spark.millstream.python."
  private val pools = new ConcurrentHashMap[String, PythonPool]

  /**
   * The process pool of a function. The document is base64 of JSON, so that it needs no quoting in SQL. A pool without
   * processes that is no longer used is dropped.
   */
  def pool(document: String): PythonPool = pools.compute(document, (_, existing) => {
    val pool = if (existing == null) new PythonPool(document) else existing
    pool.lastUse = System.nanoTime
    pool
  })

  /** The number of functions that have a pool. */
  def size: Int = pools.size

  private[millstream] def setting(name: String, default: String): String =
    SparkEnv.get.conf.get(Setting + name, default)

  /** Kills processes whose call has exceeded its time, ends those that were idle for a while, drops unused pools. */
  def check(now: Long): Unit = pools.keySet.forEach { document =>
    pools.computeIfPresent(document, (_, pool) => { pool.check(now); if (pool.isUnused(now)) null else pool })
  }

  Periodic.start("python watch", 100, () => check(System.nanoTime))
  Runtime.getRuntime.addShutdownHook(new Thread(() => pools.values.forEach(_.close())))
}

/** A call for one row: expensive, and with a result that may differ from call to call. Throws the function's error. */
case class PythonCall(document: String, operation: Char, children: Seq[Expression])
  extends Expression with EvaluatedOnce with CodegenFallback {
  private def pool = PythonFunctions.pool(document)

  override def nullable: Boolean = true
  override lazy val dataType: DataType =
    if (PythonPool.Stateful(operation)) StringType else pool.returns.spark.asNullable
  override def prettyName: String = "ms_python"
  override def toString: String = s"ms_python(${pool.name})"

  override def eval(row: InternalRow): Any =
    pool.call(operation, new GenericInternalRow(children.map(_.eval(row)).toArray))

  override protected def withNewChildrenInternal(now: IndexedSeq[Expression]): PythonCall = copy(children = now)
}

/** Limits of the processes, and the operations of udf/worker.py. */
object PythonPool {
  /** The calls whose result is a state: add, undo, merge. A state is text. */
  val Stateful = Set('a', 'u', 'm')
  /** The time in which a process must have loaded its function. */
  val StartSeconds = 30L
  /** A call may take this many times its limit of processor time. */
  val WallClockFactor = 5
  /** How much longer the process has to end a late call by itself, before it is killed. */
  val GraceSeconds = 3L
  /** How long an unused process is kept. */
  val IdleSeconds = 60L
  /** A thread that lasts as long as this JVM. */
  private[millstream] lazy val starter = ThreadUtils.newDaemonSingleThreadExecutor("python start")
}

/** The processes of one function; there are as many as there were concurrent calls. */
class PythonPool(document: String) {
  private val text = new String(Base64.getDecoder.decode(document), UTF_8)
  private val tree = JsonTrees.parsed(text)
  val name: String = tree.get("name").asText
  val returns: SqlType = SqlType.of(tree.get("returns"))
  val parameters: Seq[SqlType] = tree.get("parameters").elements.asScala.map(SqlType.of).toSeq
  private val idle = new ConcurrentLinkedDeque[PythonWorker]
  private val all = ConcurrentHashMap.newKeySet[PythonWorker]
  // After a failed start no process is started for a second; otherwise each row would start one in vain.
  @volatile private var startFailure: Fault = _
  @volatile private var startAfter = 0L
  /** When a call or a plan last used this pool (System.nanoTime). */
  @volatile private[millstream] var lastUse = 0L

  /** The result of a call; throws a Fault that names the function. */
  def call(operation: Char, arguments: InternalRow): Any = {
    val idleOne = idleWorker()
    val worker = if (idleOne != null) idleOne else startedWorker()
    var isReusable = false
    try {
      val result = worker.call(operation, arguments)
      isReusable = true
      result
    } catch { case failed: PythonFailed => isReusable = !failed.processEnded; throw fault(failed.getMessage) }
    finally if (isReusable) idle.addFirst(worker) else end(worker)
  }

  /** An idle process, null if there is none; processes that have died are removed. */
  private def idleWorker(): PythonWorker = {
    var worker = idle.pollFirst()
    while (worker != null && !worker.isAlive) { end(worker); worker = idle.pollFirst() }
    worker
  }

  private def fault(why: String): Fault = new Fault(s"function $name: $why")

  private def startedWorker(): PythonWorker = {
    if (startFailure != null && System.nanoTime < startAfter) throw startFailure
    if (PythonFunctions.setting("enabled", "true") != "true") throw fault("Python functions are switched off")
    var worker: PythonWorker = null
    try {
      worker = new PythonWorker(this)
      all.add(worker)
      worker.start(text.getBytes(UTF_8))
      worker
    } catch { case failed: PythonFailed =>
      if (worker != null) end(worker)
      startFailure = fault(failed.getMessage)
      startAfter = System.nanoTime + SECONDS.toNanos(1)
      throw startFailure
    }
  }

  private def end(worker: PythonWorker): Unit = { all.remove(worker); worker.kill() }

  private[millstream] def isUnused(now: Long): Boolean =
    all.isEmpty && now - lastUse > SECONDS.toNanos(PythonPool.IdleSeconds)

  private[millstream] def check(now: Long): Unit = {
    all.forEach(worker => if (worker.isLate(now)) worker.expire())
    var last = idle.peekLast()
    val before = now - SECONDS.toNanos(PythonPool.IdleSeconds)
    while (last != null && last.used - before < 0 && idle.removeLastOccurrence(last)) {
      end(last)
      last = idle.peekLast()
    }
  }

  private[millstream] def close(): Unit = all.forEach(_.kill())
}

/** The function failed; if `processEnded`, its process must not be used again. */
class PythonFailed(why: String, val processEnded: Boolean) extends RuntimeException(why, null, false, false)

/** One process. Not thread-safe, except for the check of its deadline. */
class PythonWorker(pool: PythonPool) {
  private val limit = PythonFunctions.setting("timeout.ms", "1000").toLong
  // A call may take longer in wall-clock time, since other processes may be using the cores.
  private val clock = limit * PythonPool.WallClockFactor
  private val process = spawn()
  private val in = new DataInputStream(process.getInputStream)
  private val out = new DataOutputStream(new BufferedOutputStream(process.getOutputStream))
  private val frame = new ByteOut
  private val json = new JsonOut
  private val plain = writers(pool.parameters)
  private val stated = writers(SqlType.Text +: pool.parameters)
  private val states = writers(Seq(SqlType.Text, SqlType.Text))
  private val parsers = new JsonParsers
  private val result = JsonFieldReader.of(pool.returns, parsers)
  private val state = JsonFieldReader.of(SqlType.Text, parsers)
  // The deadline of the current call; 0 if there is none.
  @volatile private var deadline = 0L
  @volatile private var expired = false
  @volatile var used: Long = System.nanoTime

  private def writers(fieldTypes: Seq[SqlType]): Array[JsonFieldWriter] = fieldTypes.map(JsonFieldWriter.of).toArray

  private def spawn(): Process = {
    val program = PythonFunctions.setting("program", "")
    val command = Seq(PythonFunctions.setting("executable", "python3"), "-s", "-P", "-c", program,
      (limit / 1000.0).toString, (clock / 1000.0).toString, PythonFunctions.setting("memory.mb", "0"))
    val builder = new ProcessBuilder(command.asJava).redirectError(ProcessBuilder.Redirect.INHERIT)
    val environment = builder.environment
    environment.clear()
    // Sets and dicts have the same order in each process; libraries that would start many threads get one.
    environment.putAll(JavaMap.of("PYTHONHASHSEED", "0", "PYTHONDONTWRITEBYTECODE", "1", "PYTHONUTF8", "1", "TZ", "UTC",
      "LANG", "C.UTF-8", "OMP_NUM_THREADS", "1", "OPENBLAS_NUM_THREADS", "1"))
    // The kernel kills the process when the thread ends that has started it (udf/confinement.py), as tasks' threads do.
    try CompletableFuture.supplyAsync(() => builder.start(), PythonPool.starter).join()
    catch { case e: CompletionException =>
      throw new PythonFailed(s"its process does not start: ${e.getCause.getMessage}", processEnded = true)
    }
  }

  /** Load the function. Throws PythonFailed. */
  def start(document: Array[Byte]): Unit = {
    frame.clear()
    frame.raw(document)
    exchange(SECONDS.toMillis(PythonPool.StartSeconds))
  }

  /**
   * The result of a call. The process itself ends a call that takes too long, and names the line; this side kills a
   * process that does not.
   */
  def call(operation: Char, arguments: InternalRow): Any = {
    frame.clear()
    frame.byte(operation)
    frame.raw(written(arguments, operation match {
      case 'c' => plain
      case 'm' => states
      case 'r' => states.take(1)
      case _ => stated
    }))
    val answer = exchange(clock + SECONDS.toMillis(PythonPool.GraceSeconds))
    parsers.parse(answer, offset = 1) { parser =>
      parser.nextToken()
      (if (PythonPool.Stateful(operation)) state else result).read(parser)
    }
  }

  private def written(arguments: InternalRow, writers: Array[JsonFieldWriter]): Array[Byte] = {
    json.clear()
    JsonFieldWriter.array(arguments, writers, json)
    json.toBytes
  }

  private def exchange(millis: Long): Array[Byte] = {
    deadline = System.nanoTime + MILLISECONDS.toNanos(millis)
    try {
      val data = frame.toBytes
      out.writeInt(data.length)
      out.write(data)
      out.flush()
      val answer = new Array[Byte](checked(in.readInt()))
      in.readFully(answer)
      used = System.nanoTime
      if (answer(0) != 0) throw new PythonFailed(new String(answer, 1, answer.length - 1, UTF_8), answer(0) == 2)
      answer
    } catch { case _: IOException => throw new PythonFailed(whyEnded(), processEnded = true) }
    finally deadline = 0L
  }

  /** The size of an answer. The function may have written to the pipe, too, and must not take all memory here. */
  private def checked(size: Int): Int =
    if (size > 0 && size <= RowBudget.MaxBytes * RowBudget.TotalFactor) size
    else throw new PythonFailed(s"its process answered $size bytes, which is empty or too large", processEnded = true)

  private def whyEnded(): String =
    if (expired) s"it took longer than ${clock / 1000.0} s, and its process was killed"
    else if (!process.waitFor(1, TimeUnit.SECONDS)) "its process no longer answers"
    else s"its process ended by itself (exit code ${process.exitValue})"

  /** True if the process has not ended. */
  def isAlive: Boolean = process.isAlive

  /** True if the deadline of the current call has passed; `now` is of System.nanoTime. */
  def isLate(now: Long): Boolean = { val until = deadline; until != 0L && now - until > 0 }

  /** Kill the process because its call took too long. */
  def expire(): Unit = { expired = true; kill() }

  /** Kill the process and those that it has started. */
  def kill(): Unit = {
    process.descendants.forEach(child => child.destroyForcibly())
    process.destroyForcibly()
  }
}
