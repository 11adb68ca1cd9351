package org.apache.spark.sql.millstream

import java.util.{ArrayList, Arrays, HashMap => JavaHashMap, Map => JavaMap, TreeMap}

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
    val projections = steps.map(Structs.projection)
    row => projections.foldLeft(row)((in, project) => project(in))
  }

  /** The one expression that it is, where the optimizer made no more of it. */
  def single: Option[Expression] = steps match {
    case Seq(Seq(Alias(made, _))) => Some(made)
    case Seq(Seq(made)) => Some(made)
    case _ => None
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

/**
 * What the advance of stream time does to a state: when (`due`, ties by `order`, and of which `partition`), what stays,
 * what comes out. `steady`: none of these change as long as there is the state.
 */
case class Expiring(due: Bound, update: Bound, emit: Bound, steady: Boolean) {
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
    val due = new StructType().add("due", LongType).add("order", BinaryType).add("partition", IntegerType)
    val expiring = text.get("due").map { _ =>
      Expiring(bound("due", due), bound("expire", state), bound("expired", made), text("steady").toBoolean)
    }
    val part = bound("part", BinaryType)
    Recipe(text("by").split(',').toSeq, in.schema, state, out, part, bound("update", state), bound("emit", made), expiring, text("label"),
      text("whole").toBoolean, text("gate"))
  }
}

/** When a state is settled, among others due at the same time by `order` and key. */
final class Due(val time: Long, val order: Array[Byte], val partition: Int, val key: Array[Byte]) extends Comparable[Due] {
  override def compareTo(that: Due): Int = {
    val first = Arrays.compareUnsigned(order, that.order)
    if (first != 0) first else Arrays.compareUnsigned(key, that.key)
  }
}

/**
 * The keys of states that stream time will settle, by partition and due time. It is in memory alone, and made again
 * from the states. A key stands at its state's due time or before it: one that comes too early is put off.
 */
final class DueQueue {
  private val partitions = new JavaHashMap[Int, TreeMap[java.lang.Long, ArrayList[Array[Byte]]]]

  def add(one: Due): Unit =
    partitions.computeIfAbsent(one.partition, _ => new TreeMap).computeIfAbsent(one.time, _ => new ArrayList(1)).add(one.key)

  /** The earliest keys that are due by `now`, and their time; they wait no more. Null where there are none. */
  def take(partition: Int, now: Long): (Long, ArrayList[Array[Byte]]) = {
    val dues = partitions.get(partition)
    if (dues == null || dues.isEmpty || dues.firstKey > now) null
    else {
      val first = dues.pollFirstEntry()
      (first.getKey, first.getValue)
    }
  }
}

/**
 * The structs that an expression gives, each as a row of its own. A struct inside of another row, or of an array in one,
 * is written, pointed to and copied; what is known to be a struct, an array of structs, or one of two, is not.
 */
object Structs {
  type Rows = (InternalRow, UnsafeRow => Unit) => Unit

  /** Of an array of structs; of null none. */
  def all(bound: Bound, fields: Int): Rows = bound.single.fold(array(bound.make(), fields))(all(_, fields))

  private def all(made: Expression, fields: Int): Rows = made match {
    case CreateArray(structs, _) if structs.forall(_.isInstanceOf[CreateNamedStruct]) =>
      val flat = structs.map { case struct: CreateNamedStruct => projection(struct.valExprs) }
      (row, to) => flat.foreach(one => to(one(row)))
    case If(test, yes, no) =>
      val (decide, first, second) = (predicate(test), all(yes, fields), all(no, fields))
      (row, to) => if (decide.eval(row)) first(row, to) else second(row, to)
    case other => array(projection(Seq(other)), fields)
  }

  private def array(make: InternalRow => InternalRow, fields: Int): Rows = (row, to) => {
    val made = make(row)
    if (!made.isNullAt(0)) {
      val array = made.getArray(0)
      var i = 0
      while (i < array.numElements) {
        to(array.getStruct(i, fields).asInstanceOf[UnsafeRow])
        i += 1
      }
    }
  }

  /** Of one struct; null for null. */
  def one(bound: Bound, fields: Int): InternalRow => UnsafeRow = bound.single.fold(field(bound.make(), fields))(one(_, fields))

  private def one(made: Expression, fields: Int): InternalRow => UnsafeRow = made match {
    case struct: CreateNamedStruct => projection(struct.valExprs)
    case BoundReference(at, _, _) => _.getStruct(at, fields).asInstanceOf[UnsafeRow]
    case If(test, yes, no) =>
      val (decide, first, second) = (predicate(test), one(yes, fields), one(no, fields))
      row => if (decide.eval(row)) first(row) else second(row)
    case other => field(projection(Seq(other)), fields)
  }

  private def field(make: InternalRow => InternalRow, fields: Int): InternalRow => UnsafeRow = row => {
    val made = make(row)
    if (made.isNullAt(0)) null else made.getStruct(0, fields).asInstanceOf[UnsafeRow]
  }

  def projection(made: Seq[Expression]): InternalRow => UnsafeRow = {
    val project = UnsafeProjection.create(made)
    project.initialize(0)
    project(_)
  }

  private def predicate(test: Expression): BasePredicate = {
    val made = Predicate.create(test)
    made.initialize(0)
    made
  }
}

/** One task's fold: gives the outputs of each row. */
class Folding(recipe: Recipe, memory: Memory[Array[Byte]]) extends Worker(recipe) {
  import recipe._
  private val parting = part.make()
  private val updating = Structs.one(update, state.size)
  private val emitting = Structs.all(emit, out.size)
  private val waiting = expiring.map { e =>
    (Structs.one(e.due, 3), Structs.one(e.update, state.size), Structs.all(e.emit, out.size))
  }
  private val environment = new GenericInternalRow(4)
  private var lately = (0, memory.clock(0))
  private val queue = if (expiring.isEmpty) null else memory.beside { states =>
    val made = new DueQueue
    states.foreach { case (key, state) => Option(dueOf(key, state)).foreach(made.add) }
    made
  }

  override def apply(group: Array[Byte], in: UnsafeRow): mutable.ArrayBuffer[UnsafeRow] = {
    val outs = new mutable.ArrayBuffer[UnsafeRow]
    val partition = if (whole || recipe.partition < 0) 0 else in.getInt(recipe.partition)
    val now = advanced(in, partition)
    if (!ticks(in)) {
      val key = divided(group, in)
      guarded(in) { change(key, in, now, updating, emitting, outs) }
    }
    if (expiring.nonEmpty) settle(in, partition, now, outs)
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
  private def advanced(in: UnsafeRow, partition: Int): java.lang.Long = {
    if (lately._1 != partition) lately = (partition, memory.clock(partition))
    if (clock < 0 || in.isNullAt(clock)) lately._2.time else lately._2.at(in.getLong(clock))
  }

  /** One state changed: the outputs, and whether the state is another now. A failure leaves everything as it was. */
  private def change(key: Array[Byte], in: UnsafeRow, now: java.lang.Long, updating: InternalRow => UnsafeRow,
      emitting: Structs.Rows, outs: mutable.ArrayBuffer[UnsafeRow]): Boolean = {
    val old = memory.get(key)
    val before = Fold.point(old, state.size)
    set(before, in, null, now)
    val updated = updating(environment)
    val next = if (updated == null) null else if (updated eq before) old else updated.copy().getBytes
    environment.update(2, Fold.point(next, state.size))
    emitting(environment, made => outs += made.copy())
    val changed = (old ne next) && !Arrays.equals(old, next)
    if (changed) {
      await(key, old, next)
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

  /** A state that came to be, or is due earlier or elsewhere than before, waits anew: what is due later is put off. */
  private def await(key: Array[Byte], old: Array[Byte], next: Array[Byte]): Unit =
    if (waiting.nonEmpty && next != null && !(old != null && expiring.get.steady)) {
      val (before, after) = (dueOf(key, old), dueOf(key, next))
      if (after != null && (before == null || after.time < before.time || after.partition != before.partition))
        queue.add(after)
    }

  private def dueOf(key: Array[Byte], bytes: Array[Byte]): Due =
    if (bytes == null) null
    else {
      set(Fold.point(bytes, state.size), null, null, null)
      val made = waiting.get._1(environment)
      if (made.isNullAt(0)) null
      else {
        val order = if (made.isNullAt(1)) Array.emptyByteArray else made.getBinary(1)
        new Due(made.getLong(0), order, if (whole || made.isNullAt(2)) 0 else made.getInt(2), key)
      }
    }

  /** Settle what stream time has reached, first things first. */
  private def settle(in: UnsafeRow, partition: Int, now: java.lang.Long, outs: mutable.ArrayBuffer[UnsafeRow]): Unit = {
    var next = if (now == null) null else queue.take(partition, now)
    while (next != null) {
      val dues = reached(partition, next._1, next._2)
      dues.sort(null)
      var last: Due = null
      dues.forEach { one =>
        if (last == null || last.compareTo(one) != 0) settled(one, in, now, outs)
        last = one
      }
      next = queue.take(partition, now)
    }
  }

  /** Of the keys that stood at a time those that are due; others go on to their own. */
  private def reached(partition: Int, time: Long, keys: ArrayList[Array[Byte]]): ArrayList[Due] = {
    val found = new ArrayList[Due]
    keys.forEach { key =>
      val one = dueOf(key, memory.get(key))
      if (one != null && one.partition == partition) {
        if (one.time <= time) found.add(one) else queue.add(one)
      }
    }
    found
  }

  private def settled(one: Due, in: UnsafeRow, now: java.lang.Long, outs: mutable.ArrayBuffer[UnsafeRow]): Unit =
    guarded(in) {
      if (change(one.key, in, now, waiting.get._2, waiting.get._3, outs))
        Option(dueOf(one.key, memory.get(one.key))).foreach(queue.add)
    }
}

/** In the driver's JVM, for one run. */
class DriverMemory[S >: Null <: AnyRef] extends Memory[S] {
  private val states = new JavaHashMap[Bytes, S]
  private val clocks = new JavaHashMap[Int, Clock]
  override def get(key: Array[Byte]): S = states.get(new Bytes(key))
  override def put(key: Array[Byte], state: S): Unit =
    if (state == null) remove(key) else states.put(new Bytes(key), state)
  override def remove(key: Array[Byte]): Unit = states.remove(new Bytes(key))
  override def beside[A <: AnyRef](make: Iterator[(Array[Byte], S)] => A): A = make(Iterator.empty)
  override def clock(number: Int): Clock = clocks.computeIfAbsent(number, _ => new Clock(null))
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
