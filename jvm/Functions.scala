package org.apache.spark.sql.millstream

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** SQL functions that Spark lacks: static methods over Catalyst's values, one line each in `entries`. */
object Functions {
  private def static(name: String, result: DataType, method: String): Entry =
    Entry.static(name, result, method, classOf[Functions])

  val entries: Seq[Entry] = Seq(
    static("ms_initcap", StringType, "initcap")
  )

  /** The first letter of each word in upper case, the rest in lower; words stand between white space. */
  def initcap(text: UTF8String): UTF8String = {
    var inWord = false
    UTF8String.fromString(text.toString.map { letter =>
      val out = if (inWord) letter.toLower else letter.toUpper
      inWord = !letter.isWhitespace
      out
    })
  }
}

/** Carries the static forwarders of the object above, which is what StaticInvoke calls. */
class Functions
