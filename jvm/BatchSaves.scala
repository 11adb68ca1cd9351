package org.apache.spark.sql.millstream

import scala.collection.mutable

import org.apache.hadoop.fs.Path

/*
 * Saves a query's positions and states while its batch goes on. Between two batches Spark plans the query again, and no
 * record is read for some hundred ms; a query that is saved within its batches can have long ones.
 *
 *   Spark's batch 7 begins at offset 0, with the states of version 7
 *   QueryRun.requestSave, save 1: the source's task has read the records 0 to 4; it sends a mark after their rows
 *   the operator's task takes a copy of the states that have changed, when the mark has come from each of its sources
 *   Kafka acknowledges the rows that the task has written before the mark
 *   all tasks are done: {"batch": 7, "saves": ["1-9f3c"], "sources": {"0": {"topic id": "…", "next": {"0": 5}}}}
 *     is written
 *   the server is killed at offset 9; for Spark, batch 7 begins at offset 0 again
 *   the source reads from 5, and the operator has the states of version 7 with the changes of save 1
 *
 * No task waits for a save: rows behind a mark stay in their channel until the other marks have come, as in
 * Flink's checkpoints (LocalShuffle.scala). Only for queries whose tasks pass a row on before they take the next one
 * (SparkInternals.canSave); without Kafka transactions, which are committed with their batch; and with the tasks in the
 * driver's JVM.
 *
 * A server that was frozen while another one took over may continue its run for a moment, in the same folder. So
 * nothing is saved without the lease (Fence.scala), and the names of a save's files contain the run: a file that the
 * first server had begun to write replaces no file of the other one.
 */

/** What is saved of a batch of Spark: the names of its finished saves, in order, and the next offsets by source. */
private[millstream] final case class SavedBatch(batch: Long, saves: Seq[String], sources: Map[String, SavedSource])

/** The topic of a source, and the next offset of each partition. */
private[millstream] final case class SavedSource(topicId: String, next: Map[Int, Long])

/** A participant of a save: a task of a source, or a task of an operator. */
private[millstream] sealed trait SaveParticipant
private[millstream] final case class SourceParticipant(source: String, partition: Int) extends SaveParticipant
private[millstream] final case class OperatorParticipant(operator: Long, task: Int) extends SaveParticipant

/** The saves of one run of a query. It is thread-safe. */
final class BatchSaves(run: QueryRun, private[millstream] val folder: SaveFolder) {
  /** A batch whose saves have more bytes of states ends. */
  private final val MaxBytes = 256L << 20

  private var batch = -1L
  private var finished = Seq.empty[String]
  /** What the previous run saved; read by the thread of the writer, so that it comes after all writes of that run. */
  private var restored = SaveFolder.writer.submit(() => folder.read()).get()
  private val topics = mutable.HashMap.empty[String, KafkaTopic]
  private val participants = mutable.HashSet.empty[SaveParticipant]
  private var current: Save = _
  private var isEnding, isClosed = false
  private var bytes = 0L

  /** The number of the previous run's last save; 0 if there is none. */
  private[millstream] val lastSave: Int =
    restored.flatMap(_.saves.lastOption).fold(0)(_.takeWhile(_ != '-').toInt)

  private def nameOf(save: Int) = s"$save-${run.id.substring(run.id.lastIndexOf('/') + 1)}"

  // It stays closed when the query is being ended, and no longer has a fence.
  private val fence = Option(Fences.of(QueryRuns.query(run.id)))
  private def isLeaseHeld: Boolean = fence.forall(_.isOpen)

  /** One save. `pending`: the participants that are not done; `writing`: how many tasks wait for Kafka's acks. */
  private final class Save(val number: Int) {
    val pending: mutable.HashSet[SaveParticipant] = participants.clone()
    val offsets = mutable.HashMap.empty[SourceParticipant, Long]
    var writing = 0
    var (rows, stateBytes) = (0L, 0L)
  }

  /**
   * On the driver, when a batch of Spark is planned: a source takes part, with a task for each partition of `starts`.
   * Returns the offsets to read from. Throws if the saved ones are of another topic of the name.
   */
  def source(number: Long, source: String, topic: KafkaTopic, starts: Map[Int, Long]): Map[Int, Long] = synchronized {
    beginBatch(number)
    topics.update(source, topic)
    starts.keys.foreach(partition => participants.add(SourceParticipant(source, partition)))
    val saved = restored.flatMap(_.sources.get(source))
    if (saved.exists(_.topicId != topic.id)) throw Topics.replaced(topic.name)
    starts ++ saved.fold(Map.empty[Int, Long])(_.next)
  }

  /** The same for the tasks of an operator, whose states are those of version `number`. */
  def operator(number: Long, operator: Long, tasks: Int): Unit = synchronized {
    beginBatch(number)
    (0 until tasks).foreach(task => participants.add(OperatorParticipant(operator, task)))
  }

  private def beginBatch(number: Long): Unit = if (number != batch) {
    batch = number
    restored = restored.filter(_.batch == number)
    finished = restored.fold(Seq.empty[String])(_.saves)
    bytes = 0
    participants.clear()
    current = null
    isEnding = false
    if (restored.isEmpty) SaveFolder.writer.execute(() => folder.clear())
  }

  /** The files with the changes of states that a task of an operator is to make before it begins a batch, in order. */
  def changesOf(number: Long, participant: OperatorParticipant): Seq[Path] = synchronized {
    restored.filter(_.batch == number).toSeq.flatMap(_.saves).map(folder.states(_, participant))
  }

  /**
   * Begin save `number`. False if it has to wait for the save before it, or for the lease. None if the batch has to end
   * instead; this includes a query with a source that waits for its tables: it sends no mark, and the rows of the other
   * sources would wait for one.
   */
  private[millstream] def beginSave(number: Int): Option[Boolean] = synchronized {
    if (isEnding || bytes > MaxBytes || TableBootstrapBarriers.exists(QueryRuns.query(run.id))) None
    else if (current != null || !isLeaseHeld) Some(false)
    else {
      current = new Save(number)
      Some(true)
    }
  }

  /** The number of the last finished save: a task that begins now takes part in all saves after it. */
  def lastDone: Int = synchronized(if (current == null) run.saveRequests else current.number - 1)

  /** A source's task has passed on the rows of all records before `offset`. */
  def reached(number: Int, participant: SourceParticipant, offset: Long): Unit = update(number) { save =>
    save.offsets.update(participant, offset)
    save.pending.remove(participant)
  }

  /** A task has passed its rows to Kafka, which will acknowledge them. Called before the task is done with the save. */
  def writing(number: Int): Unit = update(number)(_.writing += 1)

  /** Kafka has acknowledged a task's rows. */
  def written(number: Int): Unit = update(number)(_.writing -= 1)

  /** Save the states of a task that have changed since the last save; another thread writes their file. */
  def changed(number: Int, participant: OperatorParticipant, changes: StateChanges): Unit =
    SaveFolder.writer.execute { () =>
      val size = if (synchronized(isClosed)) 0 else folder.write(nameOf(number), participant, changes)
      if (size < 0) endBatch()
      else update(number) { save =>
        bytes += size
        save.rows += changes.rows
        save.stateBytes += changes.stateBytes
        save.pending.remove(participant)
      }
    }

  private def update(number: Int)(change: Save => Unit): Unit = synchronized {
    if (current != null && current.number == number) {
      change(current)
      if (current.pending.isEmpty && current.writing == 0) {
        val save = current
        SaveFolder.writer.execute(() => finish(save))
      }
    }
  }

  private def finish(save: Save): Unit = {
    val saved = synchronized {
      if (isClosed || (current ne save)) null
      else {
        val sources = save.offsets.toSeq.groupBy(_._1.source).map { case (source, offsets) =>
          source -> SavedSource(topics(source).id, offsets.map(next => next._1.partition -> next._2).toMap)
        }
        SavedBatch(batch, finished :+ nameOf(save.number), sources)
      }
    }
    if (saved != null) {
      if (isLeaseHeld && folder.write(saved)) onSaved(save, saved)
      else endBatch()
    }
  }

  private def onSaved(save: Save, saved: SavedBatch): Unit = synchronized {
    finished = saved.saves
    if (current eq save) current = null
    val counts = Counts.ofTask(QueryRuns.query(run.id))
    // Two sources may read one topic; what both have read is saved.
    counts.save(saved.sources.toSeq.groupMapReduce(next => topics(next._1).name)(_._2.next) { (one, other) =>
      one.map { case (partition, offset) => partition -> Math.min(offset, other.getOrElse(partition, offset)) }
    })
    if (participants.exists(_.isInstanceOf[OperatorParticipant])) counts.saveStates(save.rows, save.stateBytes)
  }

  /** The run is over: nothing more is saved. */
  def close(): Unit = synchronized { isClosed = true }

  /** End the batch, as it cannot be saved any more. */
  def endBatch(): Unit = {
    synchronized {
      isEnding = true
      current = null
    }
    run.endBatch()
  }
}
