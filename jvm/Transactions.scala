package org.apache.spark.sql.millstream

import java.nio.charset.StandardCharsets.UTF_8
import java.time.Duration
import java.util.{HashMap, Map => JavaMap}
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path
import org.apache.kafka.clients.consumer.{ConsumerGroupMetadata, OffsetAndMetadata}
import org.apache.kafka.common.{KafkaException, TopicPartition}
import org.apache.kafka.common.errors._

import org.apache.spark.sql.SparkSession

/**
 * The Kafka transactions of one run of a query with the guarantee exactly_once_v2: one for each batch that has read or
 * written something. All tasks write through one producer, except those of a cluster's executors
 * (ExecutorTransactions.scala). docs/design/013-exactly-once.md explains why nothing is lost or written twice.
 *
 *   batch 7   begin, send, send, …                    the tasks; their states are committed as version 8
 *             Spark's offset log has 7, the file of its commit log is written, and is kept as prepared-7-…
 *             the executors' transactions are listed in transactions-7-…
 *             positions and the marker "7-…" go into the transaction, it is committed, and so are the executors'
 *             prepared-7-… becomes the commit log's 7
 */
final class RunTransactions private[millstream] (group: String, settings: JavaMap[String, String])
    extends BatchProducer {
  import Transactions._

  private val conf = settings.asScala.toMap
  private val producer = Transactions.producer(settings, group)
  private val executors = mutable.Map.empty[String, Int]
  private val ofExecutors = new ConcurrentHashMap[String, OpenTransaction]
  private val resumed = mutable.Map.empty[String, ResumedProducer]
  // Used by Spark's thread that runs the query's batches only.
  private var positions = Map.empty[TopicPartition, Long]
  // The last positions that Kafka has committed for the group, by any run.
  private var last = Map.empty[TopicPartition, OffsetAndMetadata]
  @volatile private var open = false

  /** What tasks in other processes need instead of the producer. */
  private[millstream] def forExecutors: ExecutorWrites = ExecutorWrites(group, new HashMap(settings))

  /** The number of an executor, counted from 0. */
  private[millstream] def slot(executor: String): Int =
    executors.synchronized(executors.getOrElseUpdate(executor, executors.size))

  /** Record that an executor has begun a transaction for the rows of the current batch. */
  private[millstream] def join(transaction: OpenTransaction): Unit = ofExecutors.put(transaction.id, transaction)

  /** The producer, after a transaction was begun. */
  override def begin(): Producers.Producer = {
    if (!open) synchronized {
      if (!open) {
        producer.beginTransaction()
        open = true
      }
    }
    producer
  }

  /** Abort the transactions that earlier runs have left open, and fence off runs that are still alive. */
  private[millstream] def fence(): Unit = {
    retry(producer.initTransactions())
    last = Topics.of(conf).committed(group)
  }

  private def committed: Map[TopicPartition, Long] =
    last.map { case (partition, position) => partition -> position.offset }

  /** Record how far the batch has read a topic. */
  private[millstream] def reached(offset: KafkaOffset): Unit =
    positions ++= offset.next.map { case (partition, next) => new TopicPartition(offset.topic.name, partition) -> next }

  /**
   * Commit what the batch has read and written; has no effect if it did neither. `marker` identifies the batch.
   * `store` writes the list of the executors' transactions to a file, which `complete` reads after a crash. Returns
   * true if `store` was called.
   */
  private[millstream] def commit(marker: String, store: String => Unit): Boolean = {
    val others = ofExecutors.values.asScala.toSeq
    if (open || positions != committed || others.nonEmpty) {
      begin()
      if (others.nonEmpty) store(OpenTransaction.text(others))
      commitOwn(marker)
      complete(others)
      ofExecutors.clear()
    }
    others.nonEmpty
  }

  /** Commit what executors have written of a batch whose positions are committed; may be repeated. */
  private[millstream] def complete(transactions: Seq[OpenTransaction]): Unit = transactions.foreach { transaction =>
    resumed.getOrElseUpdate(transaction.id, new ResumedProducer(settings, transaction.id)).commit(transaction)
  }

  private def commitOwn(marker: String): Unit = {
    val offsets = positions.map { case (partition, next) => partition -> new OffsetAndMetadata(next, marker) }
    retry(producer.sendOffsetsToTransaction(offsets.asJava, new ConsumerGroupMetadata(group)))
    retry(producer.commitTransaction())
    open = false
    last = offsets
  }

  /**
   * Called before a file that belongs to no commit is removed from the checkpoint. Throws ProducerFencedException if
   * another run has begun since this one, because the file may be that run's. It finds out by committing the last
   * positions to Kafka once more.
   */
  private[millstream] def confirm(): Unit = if (!open && last.nonEmpty) {
    producer.beginTransaction()
    retry(producer.sendOffsetsToTransaction(last.asJava, new ConsumerGroupMetadata(group)))
    retry(producer.commitTransaction())
  }

  /** The marker of the last commit, by any run; "" if there is none. */
  private[millstream] def lastMarker: String =
    last.values.map(_.metadata).filter(_.nonEmpty).maxByOption(batchOf).getOrElse("")

  /** Abort the executors' transactions that belong to no committed batch, and fence off their producers. */
  private[millstream] def fenceExecutors(): Unit = Topics.of(conf).fence(s"$group-")

  /** Abort what is not committed, if Kafka can be reached. */
  private[millstream] def close(): Unit = {
    try {
      if (open) producer.abortTransaction()
      if (!ofExecutors.isEmpty) fenceExecutors()
    } catch { case _: KafkaException | _: IllegalStateException => } // fenced, or the next start aborts it
    producer.close(Duration.ZERO)
    resumed.values.foreach(_.close())
  }
}

/** The transactions of this JVM's runs, by run and by checkpoint. */
object Transactions {
  private val byRun = new ConcurrentHashMap[String, RunTransactions]
  private val byCheckpoint = new ConcurrentHashMap[String, RunTransactions]

  /**
   * Called before a run of a query starts: ends the transactions that earlier runs have left open, and returns the
   * marker of the last commit ("" if none). `group` is the consumer group of the query's positions and the
   * transactional id of its producer.
   */
  def begin(run: String, checkpoint: String, group: String, conf: JavaMap[String, String]): String = {
    val transactions = new RunTransactions(group, conf)
    byRun.put(run, transactions)
    transactions.fence()
    byCheckpoint.put(folder(new Path(checkpoint)), transactions)
    transactions.lastMarker
  }

  /**
   * Called after `begin`: commits what executors have written of the last committed batch, if a crash has left that
   * open, and aborts the rest. Throws if Kafka has aborted it meanwhile, because the transaction timeout has passed.
   */
  def complete(run: String, checkpoint: String): Unit = Option(of(run)).foreach { transactions =>
    val list = new Path(checkpoint, ListPrefix + transactions.lastMarker)
    val files = list.getFileSystem(SparkSession.active.sessionState.newHadoopConf())
    if (files.exists(list)) {
      val in = files.open(list)
      try transactions.complete(OpenTransaction.parse(new String(in.readAllBytes, UTF_8)))
      catch {
        case e @ (_: ProducerFencedException | _: InvalidProducerEpochException | _: InvalidTxnStateException) =>
          throw new IllegalStateException("Kafka has aborted what executors wrote of the last batch, since it was " +
            s"not finished in time: its rows are missing; remove the file $list to continue after them", e)
      } finally in.close()
    }
    transactions.fenceExecutors()
  }

  /** A producer that writes in transactions. */
  def producer(conf: JavaMap[String, String], id: String): Producers.Producer =
    Producers.create(conf, "transactional.id" -> id)

  /** On the driver of a cluster: what the run's executors need; null if tasks use `of`, or without transactions. */
  def forExecutors(run: String): ExecutorWrites =
    Option(of(run)).filterNot(_ => SparkSession.active.sparkContext.isLocal).map(_.forExecutors).orNull

  /** On the driver: an executor's number in a run; -1 if the run has ended. */
  private[millstream] def slot(run: String, executor: String): Int = Option(of(run)).fold(-1)(_.slot(executor))

  /** On the driver: true if the transaction will be committed with the run's batch. */
  private[millstream] def join(run: String, transaction: OpenTransaction): Boolean = {
    val transactions = Option(of(run))
    transactions.foreach(_.join(transaction))
    transactions.isDefined
  }

  /** The transactions of a run; null if it has none. */
  def of(run: String): RunTransactions = byRun.get(run)

  /** Record how far a run's batch has read a topic. */
  def reached(run: String, offset: KafkaOffset): Unit = Option(of(run)).foreach(_.reached(offset))

  /** Close the transactions of a run that has ended. */
  def end(run: String): Unit = Option(byRun.remove(run)).foreach { transactions =>
    byCheckpoint.values.remove(transactions)
    transactions.close()
  }

  /** Remove the committed positions of a dropped query, if Kafka answers. */
  def forget(group: String, conf: JavaMap[String, String]): Unit = Topics.of(conf.asScala.toMap).forget(group)

  /** The transactions to commit before a file is renamed; None unless it is a batch's commit in a known checkpoint. */
  private[millstream] def committing(file: Path): Option[RunTransactions] =
    if (file.getParent.getName != "commits" || !file.getName.forall(_.isDigit)) None
    else Option(byCheckpoint.get(folder(file.getParent.getParent)))

  /** Called before a checkpoint file is removed: the offsets of an uncommitted batch may belong to another run. */
  def removing(file: Path): Unit =
    if (file.getParent.getName == "offsets")
      for {
        batch <- file.getName.toLongOption
        transactions <- Option(byCheckpoint.get(folder(file.getParent.getParent)))
        if batch > batchOf(transactions.lastMarker)
      } transactions.confirm()

  /** The file name prefix, before a marker, of the list of the executors' transactions of a batch. */
  private[millstream] val ListPrefix = "transactions-"

  private def folder(path: Path): String = path.toUri.getPath
  private[millstream] def batchOf(marker: String): Long = marker.takeWhile(_.isDigit).toLongOption.getOrElse(-1L)

  /** Repeats a call after a timeout; the producer's calls may be repeated without further effect. */
  private[millstream] def retry(call: => Unit): Unit = {
    val until = SteadyClock.getTimeMillis() + Topics.Outage
    var done = false
    while (!done)
      try {
        call
        done = true
      } catch {
        case late: TimeoutException if SteadyClock.getTimeMillis() > until => throw late
        case _: TimeoutException =>
      }
  }
}
