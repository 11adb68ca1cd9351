package org.apache.spark.sql.millstream

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.TaskContext

/** Values of the tasks of this JVM by task number, each until its task ends. It is thread-safe. */
private[spark] final class TaskValues[A >: Null] {
  private val values = new ConcurrentHashMap[Long, A]

  /** The value of the task with a number; null if it does not have one. */
  def of(task: Long): A = values.get(task)

  /** Set the value of a task. */
  def put(task: TaskContext, value: A): Unit = if (values.put(task.taskAttemptId(), value) == null) removeAtEnd(task)

  /** The value of a task, which is created if it does not have one. */
  def of(task: TaskContext)(make: => A): A = values.computeIfAbsent(task.taskAttemptId(), _ => {
    removeAtEnd(task)
    make
  })

  private def removeAtEnd(task: TaskContext): Unit =
    task.addTaskCompletionListener[Unit](ended => values.remove(ended.taskAttemptId()))
}
