package org.apache.spark.sql.millstream

import java.util.{List => JavaList, Map => JavaMap, Properties}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicReference

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.producer.{Callback, KafkaProducer, ProducerRecord}
import org.apache.kafka.common.header.Headers
import org.apache.kafka.common.serialization.ByteArraySerializer

import org.apache.spark.sql.{DataFrame, ForeachWriter}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic.{Dataset => ClassicDataset, SparkSession => ClassicSession}
import org.apache.spark.sql.execution.streaming.sources.ForeachWriterTable
import org.apache.spark.sql.streaming.{OutputMode, StreamingQuery, Trigger}

/** One producer for each settings in this JVM, shared by all tasks. */
object Producers {
  private type Producer = KafkaProducer[Array[Byte], Array[Byte]]
  private val open = new ConcurrentHashMap[Map[String, String], Producer]

  def get(conf: Map[String, String]): Producer = open.computeIfAbsent(conf, create(_))

  private def create(conf: Map[String, String]): Producer = {
    val properties = new Properties
    conf.foreach { case (k, v) => properties.put(k, v) }
    new KafkaProducer(properties, new ByteArraySerializer, new ByteArraySerializer)
  }
}

/** The queries' writes to Kafka. */
object Sink {
  private val failures = new ConcurrentHashMap[String, Throwable]

  /** Why the query's first failed write failed, null while none did; known at once, unlike the query's own end. */
  def failure(query: String): String = Option(failures.get(query)).map(_.toString).orNull

  private[millstream] def fail(query: String, e: Throwable): Unit = failures.putIfAbsent(query, e)

  /** Write one record and wait until the broker has it: with its own time, be it 0, which librdkafka takes for now. */
  def put(conf: JavaMap[String, String], topic: String, time: Long, key: Array[Byte], value: Array[Byte],
      names: JavaList[String], headers: JavaList[Array[Byte]]): Unit = {
    val record = new ProducerRecord[Array[Byte], Array[Byte]](topic, null, time, key, value)
    names.asScala.zip(headers.asScala).foreach { case (name, header) => record.headers.add(name, header) }
    Producers.get(conf.asScala.toMap).send(record).get()
  }

  /**
   * Start a real-time query that writes rows (key binary, value binary, rowtime long, headers
   * array<struct<key: string, value: binary>>) to a topic.
   */
  def start(rows: DataFrame, query: String, topic: String, conf: JavaMap[String, String], checkpoint: String,
      batch: String): StreamingQuery = {
    val frame = rows.asInstanceOf[ClassicDataset[_]]
    failures.remove(query)
    ProcessingLog.tellExecutors(frame.sparkSession.sparkContext, query)
    try start(frame, query, new TopicWriter(query, topic, conf), checkpoint, Trigger.RealTime(batch))
    finally frame.sparkSession.sparkContext.setLocalProperty(ProcessingLog.Property, null)
  }

  // Not through DataStreamWriter.foreach: it would turn each row into a Row of Scala objects first.
  private def start(frame: ClassicDataset[_], query: String, writer: TopicWriter, checkpoint: String,
      trigger: Trigger): StreamingQuery = {
    val session = frame.sparkSession.asInstanceOf[ClassicSession]
    val table = ForeachWriterTable[InternalRow](writer, Right(identity[InternalRow] _))
    session.sessionState.streamingQueryManager.startQuery(userSpecifiedName = Some(query),
      userSpecifiedCheckpointLocation = Some(checkpoint), df = frame, extraOptions = Map.empty, sink = table,
      outputMode = OutputMode.Update(), useTempCheckpointLocation = false, recoverFromCheckpointLocation = true,
      trigger = trigger)
  }
}

/** Sends one partition's rows of an epoch; a failed send fails the epoch. */
class TopicWriter(query: String, topic: String, conf: JavaMap[String, String]) extends ForeachWriter[InternalRow] {
  private val settings = conf.asScala.toMap
  @transient private var producer: KafkaProducer[Array[Byte], Array[Byte]] = _
  @transient private var first: AtomicReference[Exception] = _
  @transient private var callback: Callback = _
  @transient private var count: Counts.Count = _
  @transient private var fence: Fence = _

  override def open(partition: Long, epoch: Long): Boolean = {
    producer = Producers.get(settings)
    count = Counts.of(query)
    fence = Fences.of(query)
    first = new AtomicReference
    val failed = first
    callback = (_, e) => if (e != null) { failed.compareAndSet(null, e); Sink.fail(query, e) }
    true
  }

  override def process(row: InternalRow): Unit = {
    check()
    if (fence != null) fence.await()
    val (key, value) = (bytes(row, 0), bytes(row, 1))
    val record = new ProducerRecord[Array[Byte], Array[Byte]](topic, null, rowtime(row), key, value)
    if (!row.isNullAt(3)) addHeaders(row, record.headers)
    producer.send(record, callback)
    count.write(size(key) + size(value))
  }

  private def bytes(row: InternalRow, i: Int): Array[Byte] = if (row.isNullAt(i)) null else row.getBinary(i)

  private def size(data: Array[Byte]): Int = if (data == null) 0 else data.length

  private def rowtime(row: InternalRow): java.lang.Long = if (row.isNullAt(2)) null else row.getLong(2)

  private def addHeaders(row: InternalRow, headers: Headers): Unit = {
    val list = row.getArray(3)
    for (i <- 0 until list.numElements()) {
      val header = list.getStruct(i, 2)
      headers.add(header.getUTF8String(0).toString, bytes(header, 1))
    }
  }

  override def close(error: Throwable): Unit =
    if (producer != null) {
      producer.flush()
      if (error == null) check()
    }

  private def check(): Unit = {
    val e = first.get
    if (e != null) throw new RuntimeException(s"could not write to topic $topic: $e", e)
  }
}
