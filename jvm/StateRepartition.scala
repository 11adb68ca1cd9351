package org.apache.spark.sql.millstream

import java.util.UUID

import scala.collection.mutable

import org.apache.spark.{Partitioner, TaskContext}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.ShuffledRDD
import org.apache.spark.serializer.KryoSerializer
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.streaming.checkpointing._
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.DataType
import org.apache.spark.util.SerializableConfiguration

/**
 * Distributes the states of a stopped query's checkpoint over another number of tasks, as a batch that reads nothing.
 * From two tasks to three:
 *
 *   before   offsets/7, commits/7    state/0/{0,1}      of version 8
 *   1.       every state is read and written for the task to which a query with three tasks sends its group:
 *                                    state/0/{0,1,2}    of version 9, under names that nothing else has
 *   2.       offsets/8               the end offsets of batch 7, and the number of tasks, 3
 *   3.       commits/8               names the files of step 1
 *
 * Until commits/8 exists, batch 7 is the last one: after a crash the files of steps 1 and 2 are ignored.
 */
object StateRepartition {
  private val Tasks = SQLConf.SHUFFLE_PARTITIONS.key

  /** Distribute the states of `query`, which has this checkpoint, over `tasks` tasks; returns how many operators. */
  def apply(query: DataFrame, checkpoint: String, tasks: Int): Int = {
    val session = query.sparkSession
    val (offsets, commits) =
      (new OffsetSeqLog(session, s"$checkpoint/offsets"), new CommitLog(session, s"$checkpoint/commits"))
    val last = commits.getLatestBatchId()
    // Real-time mode cannot resume from a batch that was not committed.
    offsets.purgeAfter(last.getOrElse(-1L))
    val groups = SparkInternals.operatorSpecs(query).map(_.groupTypes)
    val moved = for {
      batch <- last if groups.nonEmpty
      before <- offsets.get(batch)
      metadata <- before.metadataOpt
      old = metadata.conf(Tasks).toInt if old != tasks
    } yield {
      val commit = commits.get(batch).get
      val ids = groups.zipWithIndex.map { case (group, operator) =>
        val names = commit.stateUniqueIds.map(_(operator.toLong))
        val states = new StateMove(session, s"$checkpoint/state", operator, group, metadata)
        operator.toLong -> states.run(batch + 1, old, tasks, names)
      }
      add(offsets, batch + 1, withTasks(before, tasks))
      add(commits, batch + 1, commit.withStateUniqueIds(commit.stateUniqueIds.map(_ => ids.toMap)))
      groups.size
    }
    moved.getOrElse(0)
  }

  private def add[A <: AnyRef](log: HDFSMetadataLog[A], batch: Long, entry: A): Unit =
    if (!log.add(batch, entry)) throw new IllegalStateException(s"another run has written batch $batch")

  private def withTasks(entry: OffsetSeqBase, tasks: Int): OffsetSeqBase = {
    val changed = Tasks -> tasks.toString
    entry match {
      case one: OffsetSeq => one.copy(metadataOpt = one.metadataOpt.map(m => m.copy(conf = m.conf + changed)))
      case one: OffsetMap => one.copy(metadata = one.metadata.copy(conf = one.metadata.conf + changed))
    }
  }
}

/** A state (`key`, `value`), or a stream time (`isClock`: `id`, `time`), that is sent to its new task. */
final case class MovedState(isClock: Boolean, id: Int, time: Long, key: Array[Byte], value: Array[Byte])

/**
 * Moves one operator's states to other tasks. `group` has the types of the columns that its rows are grouped by;
 * `metadata` has the settings that its stores were written with.
 */
private final class StateMove(session: SparkSession, root: String, operator: Int, group: Seq[DataType],
    metadata: OffsetSeqMetadataBase) {
  import StateMove._

  /**
   * Write the states of `version` as the next version, for `tasks` tasks. `names` are the names of the files to read,
   * if versions have names; the result has the names of the new ones, by task.
   */
  def run(version: Long, old: Int, tasks: Int, names: Option[Array[Array[String]]]): Array[Array[String]] = {
    val (context, state) = (session.sparkContext, session.asInstanceOf[ClassicSession].sessionState)
    val conf = state.conf.clone()
    OffsetSeqMetadata.setSessionConf(metadata, conf)
    // Spark sets this when it starts a query in real-time mode.
    conf.setConf(SQLConf.STATE_STORE_CHECKPOINT_FORMAT_VERSION, if (names.isEmpty) 1 else 2)
    val hadoop = context.broadcast(new SerializableConfiguration(state.newHadoopConf()))
    val stores = new OperatorStores(root, operator, StateStoreConf(conf), hadoop)
    val (before, after) = (new TaskOf(group, old), new TaskOf(group, tasks))
    val moved = context.parallelize(0 until old, old).flatMap { task =>
      read(stores.open(task), version, names.map(_(task)(0)), before, task).flatMap { state =>
        val targets = if (state.isClock) 0 until tasks else Seq(after(state.key))
        targets.iterator.map(_ -> state)
      }
    }
    val sent = new ShuffledRDD[Int, MovedState, MovedState](moved, new TaskPartitioner(tasks))
      .setSerializer(new KryoSerializer(context.getConf))
    sent.mapPartitions { states =>
      Iterator.single(write(stores.open(TaskContext.getPartitionId()), version, states.map(_._2)).toArray)
    }.collect()
  }
}

private object StateMove {
  private final class TaskPartitioner(override val numPartitions: Int) extends Partitioner {
    override def getPartition(task: Any): Int = task.asInstanceOf[Int]
  }

  /** Opens the state stores of an operator. */
  private final class OperatorStores(root: String, operator: Int, conf: StateStoreConf,
      hadoop: Broadcast[SerializableConfiguration]) extends Serializable {
    def open(task: Int): StateStoreProvider = {
      val id = StateStoreProviderId(StateStoreId(root, operator, task), UUID.randomUUID())
      StateStoreProvider.createAndInit(id, StateFamilies.Schema, StateFamilies.Schema,
        NoPrefixKeyStateEncoderSpec(StateFamilies.Schema), true, conf, hadoop.value.value, false, None)
    }
  }

  /** The task to which the exchange sends a group. A state's key begins with the row of its group. */
  private final class TaskOf(group: Seq[DataType], tasks: Int) extends Serializable {
    @transient private lazy val task = HashPartitioning(
      group.indices.map(i => BoundReference(i, group(i), nullable = true)), tasks).partitionIdExpression
    @transient private lazy val row = new UnsafeRow(group.size)

    def apply(key: Array[Byte]): Int = {
      row.pointTo(key, key.length / 8 * 8)
      task.eval(row).asInstanceOf[Int]
    }
  }

  /** Throws if a state is not in the task of its group: then the query does not group by the state's key. */
  private def read(provider: StateStoreProvider, version: Long, name: Option[String], taskOf: TaskOf,
      task: Int): Iterator[MovedState] = {
    val store = provider.getStore(version, name, false, false)
    TaskContext.get().addTaskCompletionListener[Unit] { _ =>
      store.abort()
      provider.close()
    }
    val families = new StateFamilies(store)
    val clocks = StateCache.clocks(families).map { case (id, time) => MovedState(true, id, time, null, null) }
    clocks.iterator ++ store.iterator(StateCache.States).map { pair =>
      val (key, state) = (pair.key.getBinary(0), pair.value.getBinary(0))
      if (taskOf(key) != task)
        throw new IllegalStateException(s"a state of task $task is of a group that task ${taskOf(key)} should have")
      MovedState(false, 0, 0, key, state)
    }
  }

  /** Write states as all of the version after `version`; returns its name, if versions have names. */
  private def write(provider: StateStoreProvider, version: Long, states: Iterator[MovedState]): Option[String] = {
    val store = provider.getStore(version, None, true, true)
    try {
      val (families, clocks) = (new StateFamilies(store), mutable.HashMap.empty[Int, Long])
      var count = 0L
      states.foreach { state =>
        if (state.isClock) clocks.update(state.id, Math.max(state.time, clocks.getOrElse(state.id, Long.MinValue)))
        else {
          families.put(StateCache.States, state.key, state.value)
          count += 1
        }
      }
      clocks.foreach { case (id, time) => StateCache.putClock(families, id, time) }
      StateCache.putCount(families, count)
      store.commit()
      store.getStateStoreCheckpointInfo().stateStoreCkptId
    } finally {
      if (!store.hasCommitted) store.abort()
      provider.close()
    }
  }
}
