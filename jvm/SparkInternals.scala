package org.apache.spark.sql.millstream

import org.apache.hadoop.fs.Path

import org.apache.spark.SparkEnv
import org.apache.spark.io.CompressionCodec
import org.apache.spark.scheduler.ExecutorCacheTaskLocation
import org.apache.spark.sql.{Column, DataFrame, ForeachWriter, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{PropagateEmptyRelation, PruneFilters}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Generate, LocalRelation, LogicalPlan, Project,
  SerializeFromObject, SubqueryAlias, TransformWithState, Union}
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.classic.{Dataset => ClassicDataset, ExpressionUtils, SparkSession => ClassicSession}
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.execution.{LogicalRDD, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.{LowLatencyClock, RealTimeStreamScanExec}
import org.apache.spark.sql.execution.streaming.checkpointing.{CheckpointFileManager,
  FileContextBasedCheckpointFileManager}
import org.apache.spark.sql.execution.streaming.runtime.{AsyncProgressTrackingMicroBatchExecution, MicroBatchExecution}
import org.apache.spark.sql.execution.streaming.sources.ForeachWriterTable
import org.apache.spark.sql.execution.streaming.state.{StateStoreChangelogReaderV2, StateStoreChangelogWriterV2,
  StateStoreCoordinatorRef}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.types._

/**
 * The calls of private classes of Spark, which a later version may change. The other files to look at then are those
 * that rely on how Spark plans and runs: PlanRules.scala, StatefulExec.scala, StateFamilies.scala,
 * CheckpointFiles.scala and the shuffle's. tests/spark/test_spark_internals.py checks each assumption.
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
   * True if every task of a plan passes on all output rows of an input row before it takes the next one, so that a mark
   * keeps its place among the rows (BatchSaves.scala), and if tasks exchange rows for stateful operators only.
   * Projections, filters, generators and the stateful operator pass rows on so, compiled or not.
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

  /**
   * Spark's endpoint that knows which executor has a state store open. It is not that of `session.streams`: a query's
   * session is a copy, whose StreamingQueryManager would listen to all events of Spark as long as Spark runs.
   */
  def storeCoordinator(session: SparkSession): StateStoreCoordinatorRef =
    StateStoreCoordinatorRef.forDriver(SparkEnv.get, classic(session).sessionState.conf)

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
