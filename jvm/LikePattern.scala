package org.apache.spark.sql.millstream

import org.apache.spark.unsafe.types.UTF8String

/**
 * A pattern of LIKE: % matches any characters of a line, _ matches one, and the character after an escape is literal.
 *
 *   '%ab' and the text aab
 *   % matches nothing   a fits, b does not fit a    the last % takes one more character
 *   % matches a         a fits, b fits              both are at their end: the text matches
 *
 * On a mismatch only the last % takes one more character. The ones before it have matched as few characters as they
 * can; if the text matches where they take more, it also matches where the last % takes these instead. The time is at
 * most the product of the text's and the pattern's lengths, whereas a regular expression's may be a higher power of the
 * length.
 */
final class LikePattern(pattern: String, escape: String) extends Serializable {
  import LikePattern._

  // A literal character, or One, or Many.
  private val elements: Array[Int] = {
    val out = Array.newBuilder[Int]
    var at = 0
    while (at < pattern.length) {
      val escaped = escape.nonEmpty && pattern.charAt(at) == escape.charAt(0)
      if (escaped) at += 1
      if (at >= pattern.length) throw new Fault(s"the pattern '$pattern' ends in its escape character")
      val character = pattern.codePointAt(at)
      out += (if (escaped) character else character match { case '%' => Many case '_' => One case other => other })
      at += Character.charCount(character)
    }
    out.result()
  }

  /** True if the whole text matches; throws a Fault if that takes too long (RowBudget). */
  def matches(value: UTF8String): Boolean = {
    val text = RowBudget.timed(value.toString)
    var (at, index, many, from) = (0, 0, -1, 0)
    while (at < text.length) {
      val character = Character.codePointAt(text, at)
      if (index < elements.length && elements(index) == Many) { many = index; from = at; index += 1 }
      else if (index < elements.length && fits(elements(index), character)) {
        at += Character.charCount(character)
        index += 1
      } else {
        val skipped = if (many < 0) '\n'.toInt else Character.codePointAt(text, from)
        if (endsLine(skipped)) return false
        from += Character.charCount(skipped)
        at = from
        index = many + 1
      }
    }
    while (index < elements.length && elements(index) == Many) index += 1
    index == elements.length
  }

  private def fits(element: Int, character: Int): Boolean =
    element == character || (element == One && !endsLine(character))
}

/** The wildcards, as numbers that are not characters. */
object LikePattern {
  private val One = -1
  private val Many = -2

  private def endsLine(character: Int): Boolean = character match {
    case '\n' | '\r' | 0x85 | 0x2028 | 0x2029 => true
    case _ => false
  }
}
