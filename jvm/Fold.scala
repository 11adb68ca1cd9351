package org.apache.spark.sql.millstream

import java.nio.ByteBuffer
import java.util.{Arrays, HashMap => JavaHashMap, Map => JavaMap, TreeSet}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.classic.{Dataset => ClassicDataset, SparkSession => ClassicSession}
import org.apache.spark.sql.classic.ExpressionUtils.{column, expression}
import org.apache.spark.sql.types._

/**
 * The one stateful operator (DESIGN.md §4): rows of a key are folded into one state, in order of arrival.
 * `text` holds the SQL texts that spark/fold.py documents.
 */
object Fold {

  /** Over a stream, in real time: as rows of the operator that FoldRule puts in its place (FoldExec.scala). */
  def live(in: DataFrame, text: JavaMap[String, String]): DataFrame = {
    val (recipe, columns) = work(in, text).narrowed
    val frame = in.select(columns.map(name => in(s"`$name`")): _*)
    val child = frame.asInstanceOf[ClassicDataset[_]].queryExecution.analyzed
    val planned = FoldPlan(recipe, child)
    ClassicDataset.ofRows(frame.sparkSession.asInstanceOf[ClassicSession], planned)
  }

  /** Over rows that the driver's evaluator gives: no job, the state is in memory. */
  def bounded(in: DataFrame, text: JavaMap[String, String]): DataFrame = {
    val recipe = work(in, text)
    val frame = in.selectExpr(s"struct(${recipe.by.map(n => s"`$n`").mkString(", ")}) as k", "struct(*) as row")
    val fold = FoldCall(Pack(expression(frame("k"))), Pack(expression(frame("row"))), recipe)
    frame.select(column(fold).as("outs")).selectExpr("inline(outs)")
  }

  private def work(in: DataFrame, text: JavaMap[String, String]): Work[_ >: Null <: AnyRef] =
    if (text.containsKey("meet0")) Meet.of(in, text.asScala.toMap) else Recipe.of(in, text.asScala.toMap)

  def point(bytes: Array[Byte], fields: Int): UnsafeRow =
    if (bytes == null) null
    else {
      val row = new UnsafeRow(fields)
      row.pointTo(bytes, bytes.length)
      row
    }
}

/**
 * Stream time at a row: the greatest rowtime of its partition so far, its own included. `run` names one run of one
 * query: a run that begins again from a checkpoint reads rows again, which must not be late for having been read.
 */
case class StreamTime(left: Expression, right: Expression, run: String)
    extends BinaryExpression with Nondeterministic with CodegenFallback {
  override def nullable: Boolean = false
  override def dataType: DataType = LongType
  override def prettyName: String = "ms_stream_time"
  override protected def initializeInternal(partition: Int): Unit = ()
  override protected def evalInternal(row: InternalRow): Any = {
    val (partition, time) = (left.eval(row).asInstanceOf[Int], right.eval(row).asInstanceOf[Long])
    StreamTime.seen.merge((run, partition), time, (a, b) => Math.max(a, b))
  }
  override protected def withNewChildrenInternal(left: Expression, right: Expression): StreamTime = copy(left, right)
}

object StreamTime {
  private val seen = new java.util.concurrent.ConcurrentHashMap[(String, Int), Long]
  val entries: Seq[Entry] = Seq(
    Entry("ms_stream_time", { case Seq(partition, time, run) => StreamTime(partition, time, run.eval().toString) }))
}

/** A struct as the bytes of an UnsafeRow. */
case class Pack(child: Expression) extends UnaryExpression with CodegenFallback {
  @transient private lazy val project = UnsafeProjection.create(child.dataType.asInstanceOf[StructType])
  override def dataType: DataType = BinaryType
  override def nullIntolerant: Boolean = true
  override def nullSafeEval(in: Any): Any = in match {
    case row: UnsafeRow => row.copy().getBytes
    case row: InternalRow => project(row).copy().getBytes
  }
  override protected def withNewChildInternal(child: Expression): Expression = copy(child = child)
}

/** Expressions bound to an environment; several projections where the optimizer made several of one. */
case class Bound(steps: Seq[Seq[Expression]]) {
  def make(): InternalRow => InternalRow = {
    val projections = steps.map { expressions =>
      val made = UnsafeProjection.create(expressions)
      made.initialize(0)
      made
    }
    row => projections.foldLeft(row)((in, project) => project(in))
  }

  /** The fields that are read of the environment's column `at`; None where it is taken whole. */
  def fields(at: Int): Option[Set[Int]] = {
    def read(e: Expression): Option[Set[Int]] = e match {
      case GetStructField(BoundReference(`at`, _, _), field, _) => Some(Set(field))
      case BoundReference(`at`, _, _) => None
      case other => Bound.all(other.children.map(read))
    }
    steps.headOption.fold(Option(Set.empty[Int]))(first => Bound.all(first.map(read)))
  }

  /** The same over an environment whose column `at` has fewer fields: `places` has the new place of each that is read. */
  def moved(at: Int, narrow: StructType, places: Map[Int, Int]): Bound = {
    def move(e: Expression): Expression = e match {
      case GetStructField(BoundReference(`at`, _, nullable), field, name) =>
        GetStructField(BoundReference(at, narrow, nullable), places(field), name)
      case other => other.mapChildren(move)
    }
    Bound(steps.take(1).map(_.map(move)) ++ steps.drop(1))
  }
}

object Bound {
  def all(sets: Seq[Option[Set[Int]]]): Option[Set[Int]] =
    if (sets.contains(None)) None else Some(sets.flatten.foldLeft(Set.empty[Int])(_ ++ _))

  /** `text` over the columns of `environment`, as `wanted`. */
  def of(session: SparkSession, environment: StructType, text: String, wanted: DataType): Bound = {
    val frame = session.asInstanceOf[ClassicSession].createDataFrame(session.sparkContext.emptyRDD[Row], environment)
    val given = frame.selectExpr(s"($text) as r").schema.head.dataType
    val same = DataType.equalsStructurally(given, wanted, ignoreNullability = true)
    val made = frame.selectExpr(if (same) s"($text) as r" else s"cast(($text) as ${wanted.sql}) as r")
    Bound(steps(made.asInstanceOf[ClassicDataset[_]].queryExecution.optimizedPlan))
  }

  private def steps(plan: LogicalPlan): Seq[Seq[Expression]] = plan match {
    case Project(list, child) => steps(child) :+ list.map(BindReferences.bindReference[Expression](_, child.output))
    case _ => Nil
  }
}

/** What the advance of stream time does to a state: when (`due`, ties by `order`), what stays, what comes out. */
case class Expiring(due: Bound, update: Bound, emit: Bound, before: Boolean) {
  def bounds: Seq[Bound] = Seq(due, update, emit)
  def mapped(f: Bound => Bound): Expiring = copy(f(due), f(update), f(emit))
}

/** Everything a fold needs; environments are (state, row, new, clock). `part` divides a group, in place. */
case class Recipe(by: Seq[String], row: StructType, state: StructType, out: StructType, part: Bound, update: Bound,
    emit: Bound, expiring: Option[Expiring], label: String, whole: Boolean,
    override val gate: String) extends Work[Array[Byte]] {
  val clock: Int = at("clock")

  override def codec: StateCodec[Array[Byte]] = Plain
  override def worker(memory: Memory[Array[Byte]]): Worker = new Folding(this, memory)
  override protected def own: Seq[String] = Seq("clock", "side", "partition", "offset")
  override protected def bounds: Seq[Bound] = Seq(part, update, emit) ++ expiring.toSeq.flatMap(_.bounds)
  override protected def over(less: StructType, moved: Bound => Bound): Recipe =
    copy(row = less, part = moved(part), update = moved(update), emit = moved(emit), expiring = expiring.map(_.mapped(moved)))
}

object Recipe {
  def of(in: DataFrame, text: Map[String, String]): Recipe = {
    val session = in.sparkSession
    val Seq(state, out) = Seq("state", "out").map(name => DataType.fromDDL(text(name)).asInstanceOf[StructType])
    val environment = new StructType().add("state", state).add("row", in.schema).add("new", state)
      .add("clock", LongType)
    def bound(name: String, wanted: DataType) = Bound.of(session, environment, text(name), wanted)
    val made = ArrayType(out)
    val due = new StructType().add("due", LongType).add("order", BinaryType)
    val expiring = text.get("due").map { _ =>
      Expiring(bound("due", due), bound("expire", state), bound("expired", made), text("before").toBoolean)
    }
    val part = bound("part", BinaryType)
    Recipe(text("by").split(',').toSeq, in.schema, state, out, part, bound("update", state), bound("emit", made), expiring, text("label"),
      text("whole").toBoolean, text("gate"))
  }
}

/** Where a worker keeps its states, and the queue of those that wait for stream time. */
trait Memory[S >: Null <: AnyRef] {
  def get(key: Array[Byte]): S
  /** Of a state that was changed in place, too. */
  def put(key: Array[Byte], state: S): Unit
  def remove(key: Array[Byte]): Unit
  /** What a worker has beside the states, in memory alone: made of all states when this memory has none yet. */
  def beside[A <: AnyRef](make: Iterator[(Array[Byte], S)] => A): A
  def dues: TreeSet[Array[Byte]]
  def enqueue(entry: Array[Byte]): Unit = dues.add(entry)
  def dequeue(entry: Array[Byte]): Unit = dues.remove(entry)
  def clock(partition: Int): java.lang.Long
  def advance(partition: Int, clock: Long): Unit
}

object Memory {
  def queue(): TreeSet[Array[Byte]] = new TreeSet[Array[Byte]]((a, b) => Arrays.compareUnsigned(a, b))
}

/** A place in the queue: partition, due time, tie breaker and key as bytes that sort in that order. */
object Due {
  def apply(partition: Int, due: Long, order: Array[Byte], key: Array[Byte]): Array[Byte] =
    ByteBuffer.allocate(16 + order.length + key.length).putInt(partition).putLong(due ^ Long.MinValue)
      .put(order).put(key).putInt(order.length).array

  def time(entry: Array[Byte]): Long = ByteBuffer.wrap(entry).getLong(4) ^ Long.MinValue

  def key(entry: Array[Byte]): Array[Byte] = {
    val order = ByteBuffer.wrap(entry).getInt(entry.length - 4)
    Arrays.copyOfRange(entry, 12 + order, entry.length - 4)
  }

  def first(partition: Int): Array[Byte] = ByteBuffer.allocate(4).putInt(partition).array
}

/** One task's fold: gives the outputs of each row. */
class Folding(recipe: Recipe, memory: Memory[Array[Byte]]) extends Worker(recipe) {
  import recipe._
  private val parting = part.make()
  private val updating = update.make()
  private val emitting = emit.make()
  private val waiting = expiring.map(e => (e.due.make(), e.update.make(), e.emit.make()))
  private val environment = new GenericInternalRow(4)

  override def apply(group: Array[Byte], in: UnsafeRow): mutable.ArrayBuffer[UnsafeRow] = {
    val outs = new mutable.ArrayBuffer[UnsafeRow]
    val key = divided(group, in)
    val partition = if (whole || recipe.partition < 0) 0 else in.getInt(recipe.partition)
    val now = tick(in, partition)
    if (expiring.exists(_.before)) settle(in, partition, now, outs)
    guarded(in) { change(key, in, partition, now, updating, emitting, outs) }
    if (expiring.exists(!_.before)) settle(in, partition, now, outs)
    outs
  }

  /** The group, and the part of it where it has parts. */
  private def divided(group: Array[Byte], in: UnsafeRow): Array[Byte] = {
    set(null, in, null, null)
    val part = parting(environment)
    if (part.isNullAt(0)) group
    else {
      val more = part.getBinary(0)
      val all = Arrays.copyOf(group, group.length + more.length)
      System.arraycopy(more, 0, all, group.length, more.length)
      all
    }
  }

  /** Stream time, with this row's. */
  private def tick(in: UnsafeRow, partition: Int): java.lang.Long = {
    val known = memory.clock(partition)
    if (clock < 0 || in.isNullAt(clock)) known
    else {
      val own = in.getLong(clock)
      if (known != null && known >= own) known
      else { memory.advance(partition, own); own }
    }
  }

  /** One state changed: the outputs, and whether the state is another now. A failure leaves everything as it was. */
  private def change(key: Array[Byte], in: UnsafeRow, partition: Int, now: java.lang.Long,
      updating: InternalRow => InternalRow, emitting: InternalRow => InternalRow,
      outs: mutable.ArrayBuffer[UnsafeRow]): Boolean = {
    val old = memory.get(key)
    set(Fold.point(old, state.size), in, null, now)
    val updated = updating(environment)
    val next = if (updated.isNullAt(0)) null else bytesOf(updated.getStruct(0, state.size))
    environment.update(2, Fold.point(next, state.size))
    val made = emitting(environment)
    if (!made.isNullAt(0)) {
      val array = made.getArray(0)
      var i = 0
      while (i < array.numElements) {
        outs += array.getStruct(i, out.size).asInstanceOf[UnsafeRow].copy()
        i += 1
      }
    }
    val changed = !Arrays.equals(old, next)
    if (changed) {
      requeue(key, old, next, partition)
      memory.put(key, next)
    }
    changed
  }

  private def set(old: UnsafeRow, in: UnsafeRow, next: UnsafeRow, now: java.lang.Long): Unit = {
    environment.update(0, old)
    environment.update(1, in)
    environment.update(2, next)
    environment.update(3, now)
  }

  private def bytesOf(row: InternalRow): Array[Byte] = row.asInstanceOf[UnsafeRow].copy().getBytes

  private def requeue(key: Array[Byte], old: Array[Byte], next: Array[Byte], partition: Int): Unit =
    if (waiting.nonEmpty) {
      val (before, after) = (entry(key, old, partition), entry(key, next, partition))
      if (!Arrays.equals(before, after)) {
        if (before != null) memory.dequeue(before)
        if (after != null) memory.enqueue(after)
      }
    }

  private def entry(key: Array[Byte], bytes: Array[Byte], partition: Int): Array[Byte] =
    if (bytes == null) null
    else {
      set(Fold.point(bytes, state.size), null, null, null)
      val made = waiting.get._1(environment).getStruct(0, 2)
      if (made.isNullAt(0)) null
      else Due(partition, made.getLong(0), if (made.isNullAt(1)) Array.emptyByteArray else made.getBinary(1), key)
    }

  /** Settle what stream time has reached, first things first. A place that is no longer its state's is left out. */
  private def settle(in: UnsafeRow, partition: Int, now: java.lang.Long, outs: mutable.ArrayBuffer[UnsafeRow]): Unit = {
    val (from, to) = (Due.first(partition), Due.first(partition + 1))
    def head = if (now == null) null else memory.dues.ceiling(from)
    var next = head
    while (next != null && Arrays.compareUnsigned(next, to) < 0 && Due.time(next) <= now) {
      val key = Due.key(next)
      val valid = Arrays.equals(entry(key, memory.get(key), partition), next)
      memory.dequeue(next)
      if (valid) guarded(in) {
        if (change(key, in, partition, now, waiting.get._2, waiting.get._3, outs)) {
          val again = entry(key, memory.get(key), partition)
          if (again != null) memory.enqueue(again)
        }
      }
      next = head
    }
  }
}

/** In the driver's JVM, for one run. */
class DriverMemory[S >: Null <: AnyRef] extends Memory[S] {
  private val states = new JavaHashMap[ByteBuffer, S]
  private val clocks = new JavaHashMap[Int, java.lang.Long]
  override val dues: TreeSet[Array[Byte]] = Memory.queue()
  override def get(key: Array[Byte]): S = states.get(ByteBuffer.wrap(key))
  override def put(key: Array[Byte], state: S): Unit =
    if (state == null) remove(key) else states.put(ByteBuffer.wrap(key), state)
  override def remove(key: Array[Byte]): Unit = states.remove(ByteBuffer.wrap(key))
  override def beside[A <: AnyRef](make: Iterator[(Array[Byte], S)] => A): A = make(Iterator.empty)
  override def clock(partition: Int): java.lang.Long = clocks.get(partition)
  override def advance(partition: Int, clock: Long): Unit = clocks.put(partition, clock)
}

/** The fold as an expression that remembers: key and row as bytes in, an array of outputs out. */
case class FoldCall(left: Expression, right: Expression, recipe: Work[_ >: Null <: AnyRef])
    extends BinaryExpression with Nondeterministic with CodegenFallback {
  @transient private var worker: Worker = _
  override def stateful: Boolean = true
  override def nullable: Boolean = false
  override def dataType: DataType = ArrayType(recipe.out)
  override def prettyName: String = "ms_fold"
  override protected def initializeInternal(partition: Int): Unit = worker = FoldCall.worker(recipe)
  override protected def evalInternal(row: InternalRow): Any = {
    val in = Fold.point(right.eval(row).asInstanceOf[Array[Byte]], recipe.row.size)
    val outs = worker(left.eval(row).asInstanceOf[Array[Byte]], in)
    new GenericArrayData(outs.toArray[Any])
  }
  override protected def withNewChildrenInternal(left: Expression, right: Expression): FoldCall = copy(left, right)
}

object FoldCall {
  private def worker[S >: Null <: AnyRef](work: Work[S]): Worker = work.worker(new DriverMemory[S])
}
