package org.apache.spark.sql.millstream

import java.util.Collections
import java.util.concurrent.{ConcurrentHashMap, ExecutionException}

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin.{Admin, AdminClientConfig, ListConsumerGroupOffsetsOptions, ListOffsetsOptions,
  OffsetSpec, TopicDescription}
import org.apache.kafka.clients.consumer.OffsetAndMetadata
import org.apache.kafka.common.{IsolationLevel, KafkaFuture, TopicPartition}
import org.apache.kafka.common.errors.{RetriableException, UnknownTopicOrPartitionException}

/** A topic's name and id; a topic that is deleted and created again has another id. "" if the id is not known. */
final case class KafkaTopic(name: String, id: String)

/** A topic that a query has read was deleted, or replaced by another one of the same name. */
class TopicReplaced(message: String) extends IllegalStateException(message)

/** The topics of one Kafka cluster, requested through one client for all queries of this JVM. */
final class Topics private (admin: Admin) {
  import Topics._

  /** A topic's id and its number of partitions. Throws TopicReplaced if there is no such topic. */
  def describe(name: String): (KafkaTopic, Int) =
    // A broker may learn of a new topic later than the client that created it.
    identified(retry(admin.describeTopics(Collections.singleton(name)).topicNameValues.get(name), missing(name)))

  /** Throws TopicReplaced unless the topic still exists with the same id. */
  def check(topic: KafkaTopic): Unit = {
    val (now, _) = describe(topic.name)
    if (topic.id.nonEmpty && now.id != topic.id) throw replaced(topic.name)
  }

  /** The first offset of each partition. */
  def beginnings(topic: String, partitions: Iterable[Int]): Map[Int, Long] =
    offsets(topic, partitions, OffsetSpec.earliest)

  /** The offset after the last committed record of each partition. */
  def ends(topic: String, partitions: Iterable[Int]): Map[Int, Long] = offsets(topic, partitions, OffsetSpec.latest)

  private def offsets(topic: String, partitions: Iterable[Int], which: OffsetSpec): Map[Int, Long] =
    if (partitions.isEmpty) Map.empty
    else {
      val specs = partitions.map(n => new TopicPartition(topic, n) -> which).toMap
      val committed = new ListOffsetsOptions(IsolationLevel.READ_COMMITTED)
      retry(admin.listOffsets(specs.asJava, committed).all, missing(topic))
        .asScala.map { case (p, result) => p.partition -> result.offset }.toMap
    }

  /** The positions that a consumer group has committed. */
  def committed(group: String): Map[TopicPartition, OffsetAndMetadata] = {
    // Wait for the outcome of a running transaction, which may commit other positions.
    val stable = new ListConsumerGroupOffsetsOptions().requireStable(true)
    retry(admin.listConsumerGroupOffsets(group, stable).partitionsToOffsetAndMetadata,
      new IllegalStateException(s"consumer group $group is not known")).asScala.toMap.filter(_._2 != null)
  }

  /** Remove a consumer group; does not wait. */
  def forget(group: String): Unit = admin.deleteConsumerGroups(Collections.singleton(group))

  /** Abort the transactions whose ids have this prefix, and fence off their producers. */
  def fence(prefix: String): Unit = {
    val ids = admin.listTransactions.all.get().asScala.map(_.transactionalId).filter(_.startsWith(prefix))
    if (ids.nonEmpty) admin.fenceProducers(ids.asJavaCollection).all.get()
  }

  /**
   * The id and the number of partitions of each topic at the time of the call, by its name; None for a topic that does
   * not exist. A topic for which Kafka returns another error is left out.
   */
  private[millstream] def current(names: Set[String]): Map[String, Option[(KafkaTopic, Int)]] =
    admin.describeTopics(names.asJavaCollection).topicNameValues.asScala.toMap.flatMap { case (name, answer) =>
      try Some(name -> Some(identified(answer.get())))
      catch { case e: ExecutionException => if (missing(e)) Some(name -> None) else None }
    }
}

/** One client for each Kafka cluster. */
object Topics {
  /** How long a topic may be unknown to a broker before that is an error, in ms. */
  private val MetadataDelay = 5000L
  /** How long Kafka may be away before that is an error, in ms. */
  private[millstream] val Outage = 120000L
  /** The time between two requests, in ms. */
  private val Pause = 200L
  private val all = new ConcurrentHashMap[Map[String, String], Topics]

  /** The topics of the Kafka cluster that a client's settings lead to. */
  def of(conf: Map[String, String]): Topics = {
    val names = AdminClientConfig.configNames
    val adminSettings = conf.filter { case (name, _) => names.contains(name) && name != "client.id" }
    all.computeIfAbsent(adminSettings, _ => new Topics(Admin.create((adminSettings: Map[String, Object]).asJava)))
  }

  /** The error for a topic that no longer exists. */
  def missing(name: String): TopicReplaced = new TopicReplaced(s"topic $name, which the query reads, is not there")

  /** The error for a topic that was deleted and created again. */
  def replaced(name: String): TopicReplaced =
    new TopicReplaced(s"topic $name was deleted and created again: the records that the query has read are not in " +
      "it; create the query again")

  private def identified(description: TopicDescription): (KafkaTopic, Int) =
    (KafkaTopic(description.name, description.topicId.toString), description.partitions.size)

  private def missing(e: ExecutionException) = e.getCause.isInstanceOf[UnknownTopicOrPartitionException]

  /** The answer, requested again while Kafka is away; throws `unknown` if the topic is unknown for MetadataDelay. */
  private def retry[T](request: => KafkaFuture[T], unknown: => Exception): T = {
    val since = SteadyClock.getTimeMillis()
    var answer = Option.empty[T]
    while (answer.isEmpty)
      try answer = Some(request.get())
      catch {
        case e: ExecutionException =>
          val waited = SteadyClock.getTimeMillis() - since
          if (missing(e) && waited > MetadataDelay) throw unknown
          if (!e.getCause.isInstanceOf[RetriableException] || waited > Outage) throw e.getCause
          Thread.sleep(Pause)
      }
    answer.get
  }
}

/** A topic that a run of a query reads; `partitions` is how many of its partitions the current batch reads. */
private[millstream] final class WatchedTopic(val topics: Topics, val topic: KafkaTopic, val run: QueryRun) {
  @volatile var partitions: Int = Int.MaxValue
  /** How many consecutive checks did not find the topic. */
  @volatile var missed = 0
}

/**
 * Checks every few seconds that the topics that queries read are still the same, and ends the runs that read others.
 * The batch of a query whose topic has new partitions is ended, so that the next one reads them.
 */
object TopicWatch {
  private val Every = 3000L
  /** A broker that has just started may not know all topics yet. */
  private val Misses = 3
  private val all = ConcurrentHashMap.newKeySet[WatchedTopic]
  private lazy val thread = Periodic.start("topic watch", Every, () => checkAll())

  /** Begin to watch the topic that a run reads. */
  def add(topics: Topics, topic: KafkaTopic, run: QueryRun): WatchedTopic = {
    thread
    val watched = new WatchedTopic(topics, topic, run)
    all.add(watched)
    watched
  }

  /** The run has ended: its topics are no longer watched. */
  def remove(run: QueryRun): Unit = all.removeIf(_.run eq run)

  private def checkAll(): Unit = all.asScala.toSeq.groupBy(_.topics).foreach { case (topics, watchedTopics) =>
    val current = topics.current(watchedTopics.map(_.topic.name).toSet)
    watchedTopics.foreach(watched => current.get(watched.topic.name).foreach(check(watched, _)))
  }

  /** Compare a topic with the present one of its name and its number of partitions; None if there is none. */
  private def check(watched: WatchedTopic, current: Option[(KafkaTopic, Int)]): Unit = {
    import watched.{run, topic => read}
    watched.missed = if (current.isEmpty) watched.missed + 1 else 0
    // Records of a deleted topic were read correctly, so the batch may be committed; records of a replaced one must not
    // be.
    if (watched.missed >= Misses) run.finish(Topics.missing(read.name).getMessage)
    current.foreach { case (topic, partitions) =>
      if (topic.id != read.id) run.fail(Topics.replaced(topic.name).getMessage)
      else if (partitions > watched.partitions) run.endBatch()
    }
  }
}
