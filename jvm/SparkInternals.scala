package org.apache.spark.sql.millstream

import java.io.BufferedOutputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files
import java.nio.file.StandardCopyOption.{ATOMIC_MOVE, REPLACE_EXISTING}
import java.util.UUID

import scala.annotation.tailrec
import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataOutputStream, Path}

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.io.CompressionCodec
import org.apache.spark.rdd.RDD
import org.apache.spark.scheduler.ExecutorCacheTaskLocation
import org.apache.spark.sql.{Column, DataFrame, Encoders, ForeachWriter, SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.{encoderFor, ExpressionEncoder}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter
import org.apache.spark.sql.catalyst.optimizer.{PropagateEmptyRelation, PruneFilters}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Generate, LocalRelation, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.plans.logical.{SerializeFromObject, SubqueryAlias, TransformWithState, Union}
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.classic.{Dataset => ClassicDataset, ExpressionUtils, SparkSession => ClassicSession}
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.execution.{ColumnarRule, FilterExec, LogicalRDD, SerializeFromObjectExec, SparkPlan,
  UnaryExecNode}
import org.apache.spark.sql.execution.datasources.v2.{LowLatencyClock, RealTimeStreamScanExec}
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.streaming.checkpointing.{CheckpointFileManager,
  FileContextBasedCheckpointFileManager}
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager
import org.apache.spark.sql.execution.streaming.operators.stateful.{StatefulOperatorStateInfo, StateStoreWriter}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec
import org.apache.spark.sql.execution.streaming.runtime.{AsyncProgressTrackingMicroBatchExecution, MicroBatchExecution}
import org.apache.spark.sql.execution.streaming.sources.ForeachWriterTable
import org.apache.spark.sql.execution.streaming.state.{NoPrefixKeyStateEncoderSpec, StateSchemaValidationResult}
import org.apache.spark.sql.execution.streaming.state.{StateStore, StateStoreChangelogReaderV2, StateStoreId}
import org.apache.spark.sql.execution.streaming.state.{StateStoreOps, StateStoreProviderId}
import org.apache.spark.sql.execution.streaming.state.StateStoreChangelogWriterV2
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.types._
import org.apache.spark.util.CompletionIterator

/**
 * Everything that depends on what Spark does not promise to keep: its private classes, and rules of ours that rely on
 * how it plans and runs. For a later version of Spark this is the file to change; tests/spark/test_spark_internals.py
 * checks each assumption.
 *
 * How the stateful operator gets into a plan:
 *
 *   StatefulPlan             SerializeFromObject(TransformWithState(StatefulProcessor(spec)))     analysis, optimizer
 *   Spark's strategies       SerializeFromObjectExec(TransformWithStateExec(…, Exchange))        exchange, state number
 *   StatefulOperatorRule     StatefulExec(spec, stateInfo, Exchange)                              what runs
 */
object SparkInternals {
  private def classic(session: SparkSession) = session.asInstanceOf[ClassicSession]
  private def execution(frame: DataFrame) = frame.asInstanceOf[ClassicDataset[_]].queryExecution

  /** The frame's plan after analysis. */
  def analyzed(frame: DataFrame): LogicalPlan = execution(frame).analyzed
  /** The frame's plan after optimization. */
  def optimized(frame: DataFrame): LogicalPlan = execution(frame).optimizedPlan
  /** The frame's logical plan, over which further steps are planned. */
  def logical(frame: DataFrame): LogicalPlan = frame.asInstanceOf[ClassicDataset[_]].logicalPlan
  /** A frame of a logical plan. */
  def frame(session: SparkSession, plan: LogicalPlan): DataFrame = ClassicDataset.ofRows(classic(session), plan)
  /** A text's expression, not analysed. */
  def parsed(session: SparkSession, text: String): Expression =
    classic(session).sessionState.sqlParser.parseExpression(text)

  /** The result of `make`, with the session's settings. */
  def activated[A](session: SparkSession)(make: => A): A = classic(session).withActive(make)
  /** The Catalyst expression of a column. */
  def expression(column: Column): Expression = ExpressionUtils.expression(column)
  /** The column of a Catalyst expression. */
  def column(expression: Expression): Column = ExpressionUtils.column(expression)

  /** Let Spark end real-time batches by our clock in this JVM; the driver's and the executors' must agree. */
  def setBatchClock(): Unit = LowLatencyClock.setClock(SteadyClock)

  /** Optimizer rules that replace a filter that is never true, and the leaves below it, by an empty relation. */
  private val EmptyingRules = Seq(PruneFilters, PropagateEmptyRelation).map(_.ruleName)

  /**
   * Runs `make`, which plans what this JVM evaluates without a job, and returns its result. For this thread expressions
   * are compiled to Java or interpreted, as `compiled` says, and the optimizer keeps every leaf of a plan.
   */
  def evaluating[A](spark: SparkSession, compiled: Boolean)(make: => A): A = {
    val conf = classic(spark).sessionState.conf.clone()
    val excluded = conf.optimizerExcludedRules.toSeq ++ EmptyingRules
    conf.setConfString(SQLConf.OPTIMIZER_EXCLUDED_RULES.key, excluded.mkString(","))
    val mode = if (compiled) CodegenObjectFactoryMode.FALLBACK else CodegenObjectFactoryMode.NO_CODEGEN
    conf.setConfString(SQLConf.CODEGEN_FACTORY_MODE.key, mode.toString)
    SQLConf.withExistingConf(conf) { make }
  }

  /** The specs of a frame's stateful operators; an operator's number is its index. */
  def operatorSpecs(frame: DataFrame): Seq[OperatorSpec[_ >: Null <: AnyRef]] = analyzed(frame).collect {
    case planned: TransformWithState => (planned.statefulProcessor: Any)
  }.collect { case processor: StatefulProcessorOf => processor.spec }

  /** A leaf without rows; the optimizer cannot see that it is empty. */
  def emptyPlan(session: SparkSession, schema: StructType): LogicalPlan =
    LogicalRDD(DataTypeUtils.toAttributes(schema), session.sparkContext.emptyRDD[InternalRow])(classic(session))

  /** The same as a frame. */
  def emptyFrame(session: SparkSession, schema: StructType): DataFrame =
    frame(session, emptyPlan(session, schema))

  /** Make a function callable in the session's SQL. */
  def register(session: SparkSession, function: SqlFunction): Unit =
    classic(session).sessionState.functionRegistry
      .createOrReplaceTempFunction(function.name, function.build, "built-in")

  /** Makes the query's own thread write a batch's offsets and then its commit, also for a query without state. */
  val LogsInOrder: Map[String, String] =
    Map(AsyncProgressTrackingMicroBatchExecution.ASYNC_PROGRESS_TRACKING_ENABLED -> "false")

  /** The executors of a cluster in a fixed order, as a task's location preference names them; none in local mode. */
  def executors: Seq[String] = {
    val blocks = SparkEnv.get.blockManager
    blocks.master.getPeers(blocks.blockManagerId).sortBy(id => (id.host, id.executorId))
      .map(id => ExecutorCacheTaskLocation(id.host, id.executorId).toString)
  }

  /** What the tasks of each source below a plan read. */
  def scans(plan: SparkPlan): Seq[Seq[InputPartition]] =
    plan.collect { case scan: RealTimeStreamScanExec => scan.inputPartitions }

  /**
   * True if every task of a plan has passed all rows of an input row on before it takes the next one, so that marks can
   * go with the rows (BatchSaves.scala): projections, filters, generators and the stateful operator do so, compiled or
   * not; and if tasks exchange rows for stateful operators only.
   */
  def canSave(rows: DataFrame): Boolean = {
    val plan = analyzed(rows)
    plan.exists(_.isInstanceOf[StreamingRelationV2]) && !plan.exists {
      case _: Project | _: Filter | _: Generate | _: SubqueryAlias | _: StreamingRelationV2 => false
      case _: Union | _: SerializeFromObject | _: LocalRelation => false
      case planned: TransformWithState => !(planned.statefulProcessor: Any).isInstanceOf[StatefulProcessorOf]
      case _ => true
    }
  }

  /** The number of the batch that Spark plans on this thread. */
  def plannedBatch: Long =
    SparkSession.active.sparkContext.getLocalProperty(MicroBatchExecution.BATCH_ID_KEY).toLong

  /** Reads and writes files of a folder of a checkpoint. In HDFS and the like CheckpointFiles replaces no file. */
  def checkpointFiles(folder: String): CheckpointFileManager = {
    val (path, conf) = (new Path(folder), classic(SparkSession.active).sessionState.newHadoopConf())
    val plain = new CheckpointFiles(path, conf)
    if (plain.isLocal) plain else new FileContextBasedCheckpointFileManager(path, conf)
  }

  private def changelogCodec = CompressionCodec.createCodec(SparkEnv.get.conf, CompressionCodec.LZ4)

  /** Write a file of pairs (key, value) as Spark writes changelogs; value null: the key was removed. */
  def writeChanges(files: CheckpointFileManager, file: Path, changes: Iterator[(Array[Byte], Array[Byte])]): Unit = {
    val writer = new StateStoreChangelogWriterV2(files, file, changelogCodec)
    try {
      changes.foreach { case (key, value) => if (value == null) writer.delete(key) else writer.put(key, value) }
      writer.commit()
    } finally writer.abort()
  }

  /** Pass the pairs of a file to `read`. */
  def readChanges[A](files: CheckpointFileManager, file: Path)(
      read: Iterator[(Array[Byte], Array[Byte])] => A): A = {
    val reader = new StateStoreChangelogReaderV2(files, file, changelogCodec)
    try read(reader.map { case (_, key, value) => (key, value) }) finally reader.closeIfNeeded()
  }

  /** Start a real-time query. DataStreamWriter.foreach would first convert each row into a Row of Scala objects. */
  def start(rows: DataFrame, name: String, writer: ForeachWriter[InternalRow], checkpoint: String, batch: String,
      options: Map[String, String]): StreamingQuery = {
    val frame = rows.asInstanceOf[ClassicDataset[_]]
    val table = ForeachWriterTable[InternalRow](writer, scala.util.Right(identity[InternalRow] _))
    classic(frame.sparkSession).sessionState.streamingQueryManager.startQuery(userSpecifiedName = Some(name),
      userSpecifiedCheckpointLocation = Some(checkpoint), df = frame, extraOptions = options, sink = table,
      outputMode = OutputMode.Update(), useTempCheckpointLocation = false, recoverFromCheckpointLocation = true,
      trigger = Trigger.RealTime(batch))
  }
}

// ---------------------------------------------------------------- checkpoints

/**
 * Writes the files of checkpoints. Spark writes a file under a temporary name and then renames it. Before the commit
 * log's file of a batch is renamed, the batch's Kafka transaction is committed (Transactions.scala).
 */
class CheckpointFiles(path: Path, conf: Configuration) extends FileSystemBasedCheckpointFileManager(path, conf) {

  // Hadoop's local file system would run the program `chmod` for each new file, and write a checksum file beside it.
  override def createTempFile(path: Path): FSDataOutputStream =
    if (!isLocal) super.createTempFile(path)
    else {
      mkdirs(path.getParent)
      new FSDataOutputStream(new BufferedOutputStream(Files.newOutputStream(localFile(path))), null)
    }

  override def mkdirs(path: Path): Unit =
    if (isLocal) Files.createDirectories(localFile(path)) else super.mkdirs(path)

  private def localFile(path: Path) = java.nio.file.Path.of(path.toUri.getPath)

  override def renameTempFile(from: Path, to: Path, overwrite: Boolean): Unit =
    Transactions.committing(to) match {
      // Hadoop's local file system would leave the old file there, without an error.
      case None if overwrite && isLocal => Files.move(localFile(from), localFile(to), ATOMIC_MOVE, REPLACE_EXISTING)
      case None => super.renameTempFile(from, to, overwrite)
      case Some(transactions) =>
        // The prepared file is not in the directory that Spark cleans after a failure: Kafka may have committed anyway.
        val marker = s"${to.getName}-${UUID.randomUUID}"
        val checkpoint = to.getParent.getParent
        val prepared = new Path(checkpoint, s"prepared-$marker")
        val noted = new Path(checkpoint, Transactions.Noted + marker)
        super.renameTempFile(from, prepared, overwrite)
        val isNoted = transactions.commit(marker, text => write(noted, text))
        super.renameTempFile(prepared, to, overwrite)
        if (isNoted) super.delete(noted)
    }

  private def write(file: Path, text: String): Unit = {
    val out = createAtomic(file, overwriteIfPossible = false)
    try {
      out.write(text.getBytes(UTF_8))
      out.close()
    } finally out.cancel()
  }

  override def delete(file: Path): Unit = {
    Transactions.removing(file)
    super.delete(file)
  }
}

// ---------------------------------------------------------------- rules

/** Named by `spark.sql.extensions`. Columnar rules run after Spark has assigned state numbers to stateful operators. */
class Extensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit =
    Seq(StatefulOperatorRule, KafkaScanRule, TableBootstrapRule).foreach { rule =>
      extensions.injectColumnar(_ => new ColumnarRule { override def preColumnarTransitions: Rule[SparkPlan] = rule })
    }
}

/** Replaces the transformWithState that Spark has planned by StatefulExec. */
object StatefulOperatorRule extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case out @ SerializeFromObjectExec(_, planned: TransformWithStateExec) =>
      (planned.statefulProcessor: Any) match {
        case processor: StatefulProcessorOf =>
          val (group, columns) = (planned.groupingAttributes, planned.dataAttributes)
          val child = StreamTimePunctuation.routed(planned.child, planned.stateInfo.get.numPartitions)
          StatefulExec(processor.spec, group, columns, out.output, planned.stateInfo, child)
        case _ => out
      }
  }
}

/** Puts KafkaScanExec over Spark's scans of our source. */
object KafkaScanRule extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case scan: RealTimeStreamScanExec if scan.stream.isInstanceOf[KafkaStream] => KafkaScanExec(scan)
  }
}

/** Replaces the filters that mark sources by the operators of TableBootstrapExec.scala. */
object TableBootstrapRule extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case FilterExec(BarrierMark(Nil, query), child) => BarrierWaitExec(query, child)
    case FilterExec(BarrierMark(Seq(offset: Attribute), input), child) => BarrierProgressExec(input, offset, child)
  }
}

/** An operator over the scan of one source, which sees rows before any other operator does. */
trait SourceExec extends UnaryExecNode {
  /** Spark's scan of the source. */
  protected def scan: RealTimeStreamScanExec = child.collectFirst { case scan: RealTimeStreamScanExec => scan }.get
  override def output: Seq[Attribute] = child.output
  /** What the scan's tasks read, ordered by task number. */
  protected def tasks: Seq[KafkaInputPartition] =
    scan.inputPartitions.collect { case task: KafkaInputPartition => task }
  /** When a batch that is planned now ends, by the SteadyClock. */
  protected def batchEnd: Long = LowLatencyClock.getTimeMillis() + scan.batchDurationMs
}

// ---------------------------------------------------------------- the stateful operator

/** The logical plan of a stateful operator: Spark's transformWithState, which gets an exchange and a state number. */
object StatefulPlan {
  /** The plan of an operator over a child's rows; its output are the columns `spec.out`. */
  def apply(spec: OperatorSpec[_ >: Null <: AnyRef], child: LogicalPlan): LogicalPlan = {
    val binary = encoderFor(Encoders.BINARY).asInstanceOf[ExpressionEncoder[Any]]
    val out = AttributeReference("out", ObjectType(classOf[Array[Byte]]), nullable = false)()
    val unused = Literal.create(null, BinaryType)
    val group = spec.groupBy.map(name => child.output.find(_.name == name).get)
    val processor = new StatefulProcessorOf(spec).asInstanceOf[StatefulProcessor[Any, Any, Any]]
    val planned = TransformWithState(unused, unused, group, child.output, processor, TimeMode.None(),
      OutputMode.Update(), binary, out, child, false, group, child.output, unused, LocalRelation(child.output))
    val fields = spec.out.map(field => Alias(OutputField(out, field.dataType, field.nullable), field.name)())
    SerializeFromObject(fields, planned)
  }
}

/** A placeholder for a column of the operator until StatefulOperatorRule has replaced it. */
case class OutputField(child: Expression, dataType: DataType, override val nullable: Boolean)
    extends UnaryExpression with Unevaluable {
  override protected def withNewChildInternal(child: Expression): OutputField = copy(child = child)
}

/** Declares an operator's column families and carries its spec through the planner; it never runs. */
class StatefulProcessorOf(val spec: OperatorSpec[_ >: Null <: AnyRef])
    extends StatefulProcessor[Array[Byte], Array[Byte], Array[Byte]] {
  override def init(mode: OutputMode, time: TimeMode): Unit =
    StateCache.Families.foreach(getHandle.getValueState[Array[Byte]](_, Encoders.BINARY, TTLConfig.NONE))

  override def handleInputRows(key: Array[Byte], rows: Iterator[Array[Byte]],
      timers: TimerValues): Iterator[Array[Byte]] =
    throw new IllegalStateException("StatefulExec should run in the place of transformWithState")
}

/** The stateful operator (StatefulOperator.scala) in a physical plan: a row goes in, its output rows come out. */
case class StatefulExec(spec: OperatorSpec[_ >: Null <: AnyRef], group: Seq[Attribute], columns: Seq[Attribute],
    output: Seq[Attribute], stateInfo: Option[StatefulOperatorStateInfo], child: SparkPlan)
    extends UnaryExecNode with StateStoreWriter {

  /** The name in checkpoints. */
  override def shortName: String = "fold"

  /** Nothing to do: Spark has validated the transformWithState that this operator replaces. */
  override def validateAndMaybeEvolveStateSchema(conf: Configuration, batch: Long,
      version: Int): List[StateSchemaValidationResult] = Nil

  override protected def doExecute(): RDD[InternalRow] = {
    metrics // created on the driver
    val reference = TableBootstrapBarriers.inputReference(spec.tableInput)
    val (rows, run, info) = (child.execute(), runId, getStateInfo)
    val keepsOrder = QueryRuns.of(run).keepsOrder
    val backlog = Backlog.of(child, spec.limitedInputs, keepsOrder, spec.ordersInputs)
    val sources = SparkInternals.scans(child).flatten.collect { case task: KafkaInputPartition => task }
    val byClock = sources.filter(_.times.clockAfterMs > 0)
    if (keepsOrder && (backlog.isUnread || byClock.nonEmpty))
      SourceWatermarks.request(sparkContext, always = backlog.ends.isEmpty || byClock.nonEmpty)
    val limits =
      if (spec.coalesces && readsExchange(child)) QueryRuns.of(run).limitsOfBatch(Backlog.isBehind(child))
      else CacheLimits.Off
    Option(QueryRuns.of(run).saves).foreach(_.operator(info.storeVersion, info.operatorId, info.numPartitions))
    rows.mapPartitionsWithStateStore[InternalRow](getStateInfo, StateFamilies.Schema, StateFamilies.Schema,
      NoPrefixKeyStateEncoderSpec(StateFamilies.Schema), session.sessionState,
      Some(session.streams.stateStoreCoordinator), useColumnFamilies = true) { (store, rows) =>
        process(spec, store, rows, reference.get, backlog, SourceNumbers(sources.map(_.number), byClock.map(_.number)),
          run, limits)
      }
  }

  /** True if the rows come from an exchange, whose reader has waiting changes forwarded when they are due. */
  @tailrec private def readsExchange(plan: SparkPlan): Boolean = plan match {
    case _: Exchange => true
    case other: UnaryExecNode if !other.isInstanceOf[StatefulExec] => readsExchange(other.child)
    case _ => false
  }

  /** The run of the query; "" if its sources have none. */
  private def runId: String = SparkInternals.scans(child).flatten.collectFirst {
    case task: KafkaInputPartition => task.key.run
  }.getOrElse("")

  private def process[S >: Null <: AnyRef](spec: OperatorSpec[S], store: StateStore, rows: Iterator[InternalRow],
      tableInput: TableInput, backlog: Backlog, sources: SourceNumbers, run: String,
      limits: CacheLimits): Iterator[InternalRow] = {
    val families = new BatchStateFamilies(store, getStateInfo)
    RunScope.closeAtEnd(StateStoreProviderId(store.id, getStateInfo.queryRunId))
    val queryRun = QueryRuns.of(run)
    val cache = StateCaches.take(families, spec.codec, queryRun.saves)
    val watermarks = Watermarks.current
    watermarks.expected = sources
    if (limits.bytes > 0) watermarks.waiting = new WaitingChanges(limits)
    val task = spec.task(cache, backlog, watermarks.waiting)
    val key = UnsafeProjection.create(group.filter(_.name != StreamTimePunctuation.Column), child.output)
    val (outRows, began) = (longMetric("numOutputRows"), System.nanoTime)
    val ordered = inOrder
    // The task may end after its query has, even after the next run has begun: then it must emit nothing.
    val last = () => if (queryRun.isStopped) mutable.ArrayBuffer.empty[UnsafeRow] else task.end()
    val all = new OutputRows(rows, watermarks, task.begin(), last, { row =>
      val outs = if (row eq watermarks.controlRow) {
        val outs = task.limited(watermarks)
        // They may come in a batch without records (by the clock), which is to be committed, too.
        if (outs.nonEmpty) queryRun.onRecord()
        outs
      } else {
        val in = ordered(row)
        // A copy: if the projected row fills its buffer exactly, getBytes returns the buffer itself, which the cache
        // would keep.
        val outs = task(key(row).copy().getBytes, in)
        if (tableInput != null && spec.isRight(in))
          tableInput.arrived(in.getInt(spec.partition), in.getLong(spec.offset))
        outs
      }
      outRows += outs.size
      outs
    })
    val indexes = output.map(column => spec.out.fieldIndex(column.name))
    val outs = if (indexes == spec.out.indices) all else all.map(columnsAt(indexes))
    CompletionIterator[InternalRow, Iterator[InternalRow]](outs, {
      longMetric("allUpdatesTimeMs") += (System.nanoTime - began) / 1000000
      longMetric("numUpdatedStateRows") += cache.updates
      longMetric("numRemovedStateRows") += cache.removals
      longMetric("commitTimeMs") += timeTakenMs { StateCaches.commit(cache, families) }
      setStoreMetrics(store)
      longMetric("numTotalStateRows").set(cache.rows)
      setOperatorMetrics()
    })
  }

  /** Reorders a row's columns to the spec's order, which Spark may have changed. */
  private def inOrder: InternalRow => UnsafeRow =
    if (columns.map(_.exprId) == child.output.map(_.exprId)) _.asInstanceOf[UnsafeRow]
    else {
      val project = UnsafeProjection.create(columns, child.output)
      row => project(row)
    }

  private def columnsAt(indexes: Seq[Int]): InternalRow => InternalRow =
    UnsafeProjection.create(indexes.map(i => BoundReference(i, spec.out(i).dataType, spec.out(i).nullable)))

  override protected def withNewChildInternal(child: SparkPlan): StatefulExec = copy(child = child)
}

/**
 * The rows of `first`, then the outputs of each row of `rows` in turn, then those of `last`: `flatMap` without an
 * iterator for each row. A watermark is forwarded when all outputs of the rows before it have been read.
 */
private final class OutputRows(rows: Iterator[InternalRow], watermarks: TaskWatermarks,
    first: mutable.ArrayBuffer[UnsafeRow], last: () => mutable.ArrayBuffer[UnsafeRow],
    process: InternalRow => mutable.ArrayBuffer[UnsafeRow]) extends Iterator[InternalRow] {
  private var outs = first
  private var emitted = 0
  private var isAtEnd = false

  override def hasNext: Boolean = {
    while (emitted == outs.size && !isAtEnd) {
      isAtEnd = !hasInput
      outs = if (isAtEnd) last() else process(rows.next())
      emitted = 0
    }
    emitted < outs.size
  }

  private def hasInput: Boolean = {
    watermarks.forward()
    rows.hasNext
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException
    emitted += 1
    outs(emitted - 1)
  }
}

// ---------------------------------------------------------------- the state store

/** Identifies one commit of a partition's store. */
final case class StateCommit(run: UUID, version: Long, id: Option[Seq[String]])

/** One partition's state store as maps from bytes to bytes. */
class StateFamilies(store: StateStore) {
  import StateFamilies._
  StateCache.Families.foreach(
    store.createColFamilyIfAbsent(_, Schema, Schema, NoPrefixKeyStateEncoderSpec(Schema)))

  private val (keys, values) = (new UnsafeRowWriter(1, 256), new UnsafeRowWriter(1, 64))

  /** The value of a key; null if there is none. */
  def get(family: String, key: Array[Byte]): Array[Byte] = {
    val value = store.get(row(keys, key), family)
    if (value == null) null else value.getBinary(0)
  }
  /** Store a value, replacing the key's former one. */
  def put(family: String, key: Array[Byte], value: Array[Byte]): Unit =
    store.put(row(keys, key), row(values, value), family)
  /** Remove a key. */
  def remove(family: String, key: Array[Byte]): Unit = store.remove(row(keys, key), family)

  /** Pass all pairs (key, value) of a family to `read`, in no defined order. */
  def scan[A](family: String)(read: Iterator[(Array[Byte], Array[Byte])] => A): A = {
    val all = store.iterator(family)
    try read(all.map(pair => (pair.key.getBinary(0), pair.value.getBinary(0)))) finally all.close()
  }
}

/** The state store of one batch of a query. */
final class BatchStateFamilies(store: StateStore, info: StatefulOperatorStateInfo) extends StateFamilies(store) {
  /** The store's identity: checkpoint, operator, partition. */
  def id: StateStoreId = store.id

  /** The commit that the batch starts from. */
  def base: StateCommit =
    StateCommit(info.queryRunId, info.storeVersion,
      info.getStateStoreCkptId(TaskContext.getPartitionId()).map(_.toSeq))

  /** Commit the batch's changes. */
  def commit(): StateCommit = {
    val version = store.commit()
    StateCommit(info.queryRunId, version, store.getStateStoreCheckpointInfo().stateStoreCkptId.map(Seq(_)))
  }
}

/** The layout of the store: a family has one binary column as key and one as value. */
object StateFamilies {
  val Schema: StructType = new StructType().add("value", BinaryType)

  private def row(writer: UnsafeRowWriter, bytes: Array[Byte]): UnsafeRow = {
    writer.reset()
    writer.zeroOutNullBytes()
    writer.write(0, bytes)
    writer.getRow
  }
}
