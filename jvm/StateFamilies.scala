package org.apache.spark.sql.millstream

import java.util.UUID

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo
import org.apache.spark.sql.execution.streaming.state.{NoPrefixKeyStateEncoderSpec, StateStore, StateStoreId}
import org.apache.spark.sql.types.{BinaryType, StructType}

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
