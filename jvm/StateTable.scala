package org.apache.spark.sql.millstream

import java.util.Arrays

import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.hash.Murmur3_x86_32

/** A state in memory (null: the key has none). `stored`: true if the state store has a row for the key. */
final class CachedState[S](val key: Array[Byte], var state: S, var stored: Boolean) {
  /** True if the state store has the state as it is here. */
  var clean = true
  /** True if the state is saved as it is here, with a batch or within one. */
  var saved = true
  /** True if a save within the batch has a state of the key. */
  var inSaves = false
  /** True if it was looked up since the search for a state to evict last passed it. */
  var used = true
  /** Its approximate bytes of memory. */
  var weight = 0
}

/**
 * The states of a task in memory, by key: a hash table with open addressing and linear probing.
 *
 *   hashes   0  h(a)  h(b)  0  …     0: the place is free
 *   states   –  a     b     –  …     b's own place was that of a, which was taken
 *
 * A task may have millions of small states. A HashMap would have one more object for each, which the garbage collector
 * copies and visits. And for a key without a state, such as that of a join's first row, a search reads only `hashes`.
 */
final class StateTable[S] {
  import StateTable._

  private var hashes = new Array[Int](Smallest)
  private var states = new Array[CachedState[S]](Smallest)
  private var count = 0
  /** Where the next search for a state to evict begins: the hand of the clock algorithm. */
  private var hand = 0

  /** The number of states. */
  def size: Int = count

  /** The state of a key with this `hash`; null if it is not here. */
  def get(key: Array[Byte], hash: Int): CachedState[S] = {
    var i = place(hash)
    while (hashes(i) != 0 && !(hashes(i) == hash && Arrays.equals(states(i).key, key))) i = next(i)
    states(i)
  }

  /** Add the state of a key that is not here. */
  def add(state: CachedState[S]): Unit = {
    if (5 * count > 3 * states.length) grow()
    insert(state, hash(state.key))
    count += 1
  }

  /** Remove this state; false if it is not here, although another one of its key may be. */
  def remove(state: CachedState[S]): Boolean = {
    var i = place(hash(state.key))
    while (hashes(i) != 0 && !(states(i) eq state)) i = next(i)
    val isHere = hashes(i) != 0
    if (isHere) free(i)
    isHere
  }

  /**
   * A state to evict: one that was not looked up since the last search passed it ("second chance"). Never `kept`, so
   * there must be another one.
   */
  def unused(kept: CachedState[S]): CachedState[S] = {
    while (states(hand) == null || (states(hand) eq kept) || states(hand).used) {
      if (states(hand) != null) states(hand).used = false
      hand = next(hand)
    }
    states(hand)
  }

  private def place(hash: Int): Int = hash & (states.length - 1)
  private def next(i: Int): Int = (i + 1) & (states.length - 1)

  private def insert(state: CachedState[S], hash: Int): Unit = {
    var i = place(hash)
    while (hashes(i) != 0) i = next(i)
    hashes(i) = hash
    states(i) = state
  }

  private def grow(): Unit = {
    val (oldHashes, oldStates) = (hashes, states)
    hashes = new Array[Int](2 * oldHashes.length)
    states = new Array[CachedState[S]](2 * oldStates.length)
    hand = 0
    var i = 0
    while (i < oldHashes.length) {
      if (oldHashes(i) != 0) insert(oldStates(i), oldHashes(i))
      i += 1
    }
  }

  /** Free a place; states of the same probe sequence behind it move up, so that a search still finds them. */
  private def free(at: Int): Unit = {
    var (hole, i) = (at, next(at))
    while (hashes(i) != 0) {
      val (fromPlace, fromHole) = (distance(place(hashes(i)), i), distance(hole, i))
      if (fromPlace >= fromHole) {
        hashes(hole) = hashes(i)
        states(hole) = states(i)
        hole = i
      }
      i = next(i)
    }
    hashes(hole) = 0
    states(hole) = null
    count -= 1
  }

  private def distance(from: Int, to: Int): Int = (to - from) & (states.length - 1)
}

/** Sizes and hashes of tables. */
object StateTable {
  /** The number of places of an empty table; always a power of two. */
  private val Smallest = 64

  /** The hash of a key; never 0. */
  def hash(key: Array[Byte]): Int = {
    val hash = Murmur3_x86_32.hashUnsafeBytes2(key, Platform.BYTE_ARRAY_OFFSET, key.length, 42)
    if (hash == 0) 1 else hash
  }
}
