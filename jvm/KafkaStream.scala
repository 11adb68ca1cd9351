package org.apache.spark.sql.millstream

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.hadoop.fs.Path

import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset, PartitionOffset, SupportsRealTimeMode}

/** The next offset of each partition, in the form of a checkpoint: {"TOPIC": {"0": 5}, "topic id": "…"}. */
final case class KafkaOffset(topic: KafkaTopic, next: Map[Int, Long]) extends Offset {
  override def json: String = {
    val root = JsonTrees.newObject
    KafkaOffset.put(next, root.putObject(topic.name))
    if (topic.id.nonEmpty) root.put(KafkaOffset.Id, topic.id)
    root.toString
  }
}

/** Offsets by partition as JSON: `{"0": 5, "1": 7}`. */
object KafkaOffset {
  // A topic name cannot contain a space. Checkpoints of Spark's own Kafka source do not have this entry.
  private val Id = "topic id"

  /** The offsets of a topic in a checkpoint's JSON. */
  def parse(topic: String, json: String): KafkaOffset = {
    val root = JsonTrees.parsed(json)
    KafkaOffset(KafkaTopic(topic, root.path(Id).asText("")), partitions(root.path(topic)))
  }

  /** Add the offset of each partition to an object, in the order of the partitions. */
  private[millstream] def put(offsets: Map[Int, Long], node: ObjectNode): Unit =
    offsets.toSeq.sorted.foreach { case (partition, offset) => node.put(partition.toString, offset) }

  /** The offsets that `put` has added. */
  private[millstream] def partitions(node: JsonNode): Map[Int, Long] =
    node.fields.asScala.map(field => field.getKey.toInt -> field.getValue.asLong).toMap
}

/** The next offset of the partition that a task reads. */
private final case class KafkaPartitionOffset(partition: Int, next: Long) extends PartitionOffset

/**
 * What a task reads: the records of a partition from the offset `from` up to the offset `until`, exclusive
 * (Long.MaxValue: no end), in the batch of that number of its run (0: a bounded read, which has no batches).
 * `endAtStart` is the end of the partition when the run began, `source` the source's name in its query.
 * In a cluster it prefers the same executor in each batch of a run, because that executor has a consumer for it.
 */
final case class KafkaInputPartition(key: ConsumerKey, from: Long, until: Long, batch: Int, endAtStart: Long = 0,
    source: String = "", times: SourceTimes = SourceTimes(hasRecordTimes = false, 0, 0)) extends InputPartition {
  /** The task's number among those of all sources of the query. */
  def number: Int = (if (source.isEmpty) 0 else source.toInt << KafkaInputPartition.PartitionBits) | key.partition

  override def preferredLocations(): Array[String] = SparkInternals.executors match {
    case Seq() => Array.empty
    case all => Array(all(Math.floorMod((key.topic.name, key.partition).hashCode, all.size)))
  }
}

/** The numbers of sources' tasks: that of the source in the upper bits, that of the partition in the lower ones. */
private[millstream] object KafkaInputPartition {
  private val PartitionBits = 16

  /** The partition that the task of a number reads. */
  def partitionOf(number: Int): Int = number & ((1 << PartitionBits) - 1)
}

/**
 * The source on the driver, for one run of a query; called by Spark's thread of that query. `folder` is the source's
 * own in the query's checkpoint.
 */
private class KafkaStream(options: KafkaOptions, folder: String) extends MicroBatchStream with SupportsRealTimeMode {
  private[millstream] val run = QueryRuns.of(options.run)
  private lazy val topics = Topics.of(options.conf)
  private lazy val endsAtStart = topics.ends(watched.topic.name, 0 until watched.partitions)
  /** The topic of the run, with the number of its partitions in the current batch; null before the first batch. */
  private var watched: WatchedTopic = _
  /** Spark names a query's sources 0, 1, … . */
  private val source = new Path(folder).getName

  /** Called before each batch: throws if the run is finishing, or if the topic was replaced by another one. */
  override def latestOffset(): Offset = {
    run.awaitStop()
    run.beginBatch()
    val (topic, partitions) = topics.describe(options.topic)
    if (watched == null) watched = TopicWatch.add(topics, topic, run)
    else if (watched.topic != topic) throw Topics.replaced(topic.name)
    watched.partitions = partitions
    KafkaOffset(topic, Map.empty)
  }

  override lazy val initialOffset: Offset = KafkaOffset(watched.topic, complete(options.starts))

  /** The offsets of all partitions; a new partition begins with its first record. */
  private def complete(offsets: Map[Int, Long]): Map[Int, Long] =
    offsets ++ topics.beginnings(watched.topic.name, (0 until watched.partitions).filterNot(offsets.contains))

  override def planInputPartitions(start: Offset): Array[InputPartition] = {
    val offset = start.asInstanceOf[KafkaOffset]
    val topic = watched.topic
    val isReplaced = offset.topic.id.nonEmpty && offset.topic.id != topic.id
    if (isReplaced || offset.next.keys.exists(_ >= watched.partitions)) throw Topics.replaced(topic.name)
    val starts = complete(offset.next)
    val saved =
      if (run.saves == null) starts else run.saves.source(SparkInternals.plannedBatch, source, topic, starts)
    saved.toArray.sorted.map { case (partition, from) =>
      val key = ConsumerKey(run.id, options.conf, topic, partition, options.shared)
      KafkaInputPartition(key, from, Long.MaxValue, run.batchNumber, endsAtStart.getOrElse(partition, 0), source,
        options.times)
    }
  }

  override def mergeOffsets(offsets: Array[PartitionOffset]): Offset = {
    val next = offsets.map { case KafkaPartitionOffset(partition, offset) => partition -> offset }.toMap
    val end = KafkaOffset(watched.topic, next)
    Transactions.reached(run.id, end)
    end
  }

  override def deserializeOffset(json: String): Offset = KafkaOffset.parse(options.topic, json)
  override def createReaderFactory(): PartitionReaderFactory = KafkaReaders
  override def commit(end: Offset): Unit = ()

  override def stop(): Unit = {
    TopicWatch.remove(run)
    QueryRuns.end(run.id)
    Consumers.close(run.id)
  }

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] =
    throw new UnsupportedOperationException("the source is for real-time mode and for bounded reads")

  override def toString: String = s"kafka ${options.topic}"
}

/** A bounded read: the partitions of `ends`, each up to its end. */
private class KafkaBatch(options: KafkaOptions) extends Batch {
  override def planInputPartitions(): Array[InputPartition] = {
    val topics = Topics.of(options.conf)
    val (topic, _) = topics.describe(options.topic)
    val starts = options.starts ++ topics.beginnings(topic.name, options.ends.keys.filterNot(options.starts.contains))
    for ((partition, until) <- options.ends.toArray.sorted if starts(partition) < until)
      yield KafkaInputPartition(ConsumerKey("", options.conf, topic, partition), starts(partition), until, 0)
  }

  override def createReaderFactory(): PartitionReaderFactory = KafkaReaders
}
