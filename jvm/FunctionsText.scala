package org.apache.spark.sql.millstream

import java.lang.Character.{DECIMAL_DIGIT_NUMBER, LOWERCASE_LETTER, UPPERCASE_LETTER}
import java.util.regex.{Matcher, Pattern}

import scala.language.implicitConversions

import org.apache.commons.lang3.StringUtils
import org.apache.commons.text.StringEscapeUtils

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.objects.{Invoke, StaticInvoke}
import org.apache.spark.sql.catalyst.util.{ArrayData, GenericArrayData, MapData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Conversions between Catalyst's text and Java's. */
private[millstream] object Texts {
  /** Catalyst's text as Java's. */
  implicit def asJava(text: UTF8String): String = text.toString
  /** Java's text as Catalyst's. */
  implicit def asSpark(text: String): UTF8String = UTF8String.fromString(text)
  /** An ARRAY<STRING> of Catalyst. */
  def array(texts: Iterable[String]): ArrayData = new GenericArrayData(texts.map(asSpark).toArray[Any])
  /** A MAP<STRING, STRING> of Catalyst; of equal keys the last one is taken. */
  def map(entries: Iterable[(String, String)]): MapData =
    CollectionFunctions.mapOfPairs(entries.map { case (key, value) => (asSpark(key), asSpark(value)) })
}

/** Functions of text, counted in Java's (UTF-16) characters. */
object TextFunctions extends Family {
  import Texts._

  private val text = StringType
  private val int = IntegerType
  private val texts = ArrayType(StringType)
  private val classes = Seq(text, text, text, text)

  override val functions: Seq[SqlFunction] = Seq(
    fn("chr", text, int),
    fn("chrText", text, text),
    fn("textOrder", int, text, text),
    fn("textGreatest", text, texts),
    fn("textLeast", text, texts),
    fn("textSort", texts, texts, BooleanType),
    fn("ucase", text, text),
    fn("lcase", text, text),
    fn("initcap", text, text),
    fn("instr", int, text, text, int, int),
    fn("trim", text, text),
    fn("len", int, text),
    fn("lpad", text, text, int, text),
    fn("rpad", text, text, int, text),
    fn("substring", text, text, int, int),
    fn("replace", text, text, text, text),
    fn("regexpReplace", text, text, text, text),
    SqlFunction("ms_like", likeOf),
    fn("regexpExtract", text, text, text, int),
    fn("regexpExtractAll", texts, text, text, int),
    fn("regexpSplit", texts, text, text),
    fn("split", texts, text, text),
    fn("splitToMap", MapType(text, text), text, text, text),
    fn("maskCharacter", text, text),
    fn("mask", text, text +: classes: _*),
    masked("maskLeft"),
    masked("maskRight"),
    masked("maskKeepLeft"),
    masked("maskKeepRight"),
    fresh("uuid", text))

  private def masked(method: String): SqlFunction = fn(method, text, Seq(text, int) ++ classes: _*)

  /** CHR: the character of a code point; null if there is none. */
  def chr(code: Int): UTF8String = if (Character.isValidCodePoint(code)) Character.toString(code) else null

  /**
   * CHR of text that begins with an escaped UTF-16 unit (backslash, u, four hexadecimal digits): Java's escapes in it
   * are replaced, as in ksqlDB. null for any other text; throws for a backslash and u without four such digits.
   */
  def chrText(code: UTF8String): UTF8String =
    if (code.length < 6 || !code.startsWith("\\u")) null else StringEscapeUtils.unescapeJava(code)

  // Java's case mappings, as in ksqlDB. Spark's own functions load a class that computes the title case of all
  // characters: three seconds of processor time in a new JVM.
  /** UCASE: the text in upper case. */
  def ucase(text: UTF8String): UTF8String = text.toUpperCase
  /** LCASE: the text in lower case. */
  def lcase(text: UTF8String): UTF8String = text.toLowerCase

  private val whiteSpace = " \t\n\u000b\f\r"

  /**
   * The first letter of each word in upper case, the rest in lower; words are separated by Java's white space (\s),
   * which is removed before the first word.
   */
  def initcap(text: UTF8String): UTF8String = {
    val out = new java.lang.StringBuilder
    var inWord = false
    (text: String).toLowerCase.dropWhile(whiteSpace.contains(_)).foreach { letter =>
      out.append(if (inWord) letter.toString else letter.toString.toUpperCase)
      inWord = !whiteSpace.contains(letter)
    }
    out.toString
  }

  /**
   * Counted from 1; 0 if the text does not occur. From a negative position the search goes backwards, from occurrences
   * that end there or before: in 'abab' the one of 'ab' from -2 is at 1. An empty text occurs once.
   */
  def instr(text: UTF8String, part: UTF8String, position: Int, nth: Int): Int = {
    val (source, target) = (text.toString, part.toString)
    def next(from: Int): Int = if (position < 0) source.lastIndexOf(target, from) else source.indexOf(target, from)
    val (start, step) = if (position < 0) (source.length + position + 1 - target.length, -1) else (position - 1, 1)
    if (position == 0 || nth < 1 || Math.abs(position.toLong) > source.length) 0
    else if (target.isEmpty) next(start) + 1
    else (2 to nth).foldLeft(next(start))((at, _) => if (at < 0) at else next(at + step)) + 1
  }

  // ------------------------------------------------------------ order

  /** Java's order, by UTF-16 units: surrogate pairs sort before U+E000 to U+FFFF, unlike in UTF-8. */
  def textOrder(one: UTF8String, other: UTF8String): Int = {
    val size = Math.min(one.numBytes, other.numBytes)
    var at = 0
    while (at < size && one.getByte(at) == other.getByte(at)) at += 1
    if (at == size) one.numBytes - other.numBytes
    else {
      val (a, b) = (one.getByte(at) & 0xff, other.getByte(at) & 0xff)
      if (a >= 0xee && b >= 0xee && (a >= 0xf0) != (b >= 0xf0)) b - a else a - b
    }
  }

  /** The greatest of the texts that are not null; null if there are none. */
  def textGreatest(values: ArrayData): UTF8String = ValueOrder.text.greatest(values)
  /** The least of the texts that are not null; null if there are none. */
  def textLeast(values: ArrayData): UTF8String = ValueOrder.text.least(values)
  /** ARRAY_SORT of texts: nulls are last. */
  def textSort(values: ArrayData, downwards: Boolean): ArrayData = ValueOrder.text.sort(values, downwards)

  // ------------------------------------------------------------ parts

  /** TRIM: without the control characters and spaces at both ends. */
  def trim(text: UTF8String): UTF8String = text.toString.trim
  /** LEN in UTF-16 units. */
  def len(text: UTF8String): Int = text.toString.length

  /** LPAD: cut or filled on the left to `length`; null if the length is negative or the padding empty. */
  def lpad(text: UTF8String, length: Int, padding: UTF8String): UTF8String =
    padded(text, length, padding, StringUtils.leftPad(_, _, _))
  /** RPAD: cut or filled on the right to `length`; null if the length is negative or the padding empty. */
  def rpad(text: UTF8String, length: Int, padding: UTF8String): UTF8String =
    padded(text, length, padding, StringUtils.rightPad(_, _, _))
  private def padded(text: String, length: Int, padding: String, pad: (String, Int, String) => String): UTF8String =
    if (length < 0 || padding.isEmpty) null
    else {
      RowBudget.reserve(length)
      pad(text.take(length), length, padding)
    }

  /** SUBSTRING from a position counted from 1 (negative: from the end), cut to what the text has. */
  def substring(text: UTF8String, position: Int, length: Int): UTF8String = {
    val whole = text.toString
    val (from, to) = bounds(whole.length, position, length)
    whole.substring(from, to)
  }

  /** The start and end, within `size`, of a position counted from 1 (negative: from the end) and a length. */
  private[millstream] def bounds(size: Int, position: Int, length: Int): (Int, Int) = {
    val from = if (position < 0) Math.max(size + position, 0) else Math.max(Math.min(position - 1, size), 0)
    (from, Math.max(Math.min(from.toLong + length, size.toLong), from.toLong).toInt)
  }

  /** REPLACE of each `old`; an empty one matches between all characters. */
  def replace(text: UTF8String, old: UTF8String, by: UTF8String): UTF8String = {
    val (whole, part) = (text.toString, old.toString)
    val times =
      if (part.isEmpty) whole.length + 1 else if (by.numBytes == 0) 0 else StringUtils.countMatches(whole, part)
    RowBudget.reserve(text.numBytes + times.toLong * by.numBytes - times.toLong * old.numBytes)
    whole.replace(part, by.toString)
  }

  private val pattern = new Memo[String, Pattern](Pattern.compile(_))
  private def matcher(regexp: UTF8String, text: UTF8String): Matcher =
    pattern(regexp).matcher(RowBudget.timed(text))

  /** REGEXP_REPLACE of each match; `by` may name groups ($1). */
  def regexpReplace(text: UTF8String, regexp: UTF8String, by: UTF8String): UTF8String = {
    val (matches, out, instead) = (matcher(regexp, text), new java.lang.StringBuilder, by.toString)
    while (matches.find()) {
      matches.appendReplacement(out, instead)
      RowBudget.checkSize(out.length)
    }
    val replaced = matches.appendTail(out).toString
    RowBudget.reserve(replaced.length)
    replaced
  }
  /** REGEXP_EXTRACT: a group of the first match; null without a match or such a group. */
  def regexpExtract(regexp: UTF8String, text: UTF8String, group: Int): UTF8String = {
    val matches = matcher(regexp, text)
    if (group <= matches.groupCount && matches.find()) matches.group(group) else null
  }
  /** REGEXP_EXTRACT_ALL: a group of each match; null without such a group. */
  def regexpExtractAll(regexp: UTF8String, text: UTF8String, group: Int): ArrayData = {
    val matches = matcher(regexp, text)
    if (group > matches.groupCount) null
    else array(Iterator.continually(matches).takeWhile(_.find()).map(_.group(group)).toSeq)
  }
  /** REGEXP_SPLIT_TO_ARRAY: the parts between matches; one that matches empty text gives no empty parts at the end. */
  def regexpSplit(text: UTF8String, regexp: UTF8String): ArrayData = {
    val by = pattern(regexp)
    array(by.split(RowBudget.timed(text), if (by.matcher("").matches) 0 else -1))
  }

  /** SPLIT: the parts between delimiters; by an empty delimiter, each character. */
  def split(text: UTF8String, delimiter: UTF8String): ArrayData = array(parts(text, delimiter))
  private def parts(text: String, delimiter: String): Seq[String] =
    if (delimiter.isEmpty) text.split("").toSeq else text.split(Pattern.quote(delimiter), -1).toSeq

  /** Splits an entry at each separator and takes the first two parts; an entry without a separator is left out. */
  def splitToMap(text: UTF8String, entries: UTF8String, values: UTF8String): MapData = {
    val separator = values.toString
    if (entries.isEmpty || separator.isEmpty || entries == values) null
    else map(parts(text, entries).map(parts(_, separator)).collect { case Seq(key, value, _*) => key -> value })
  }

  // ------------------------------------------------------------ patterns of LIKE

  /** A constant pattern is compiled once. */
  private def likeOf(args: Seq[Expression]): Expression = args match {
    case Seq(text, pattern: Literal, escape) if pattern.value != null =>
      val compiled = new LikePattern(pattern.toString, escape.toString)
      Invoke(Literal.fromObject(compiled), "matches", BooleanType, Seq(text))
    case _ => StaticInvoke(getClass, BooleanType, "like", args)
  }

  private val likePattern = new Memo[(String, String), LikePattern]((new LikePattern(_, _)).tupled)

  /** Whether the whole text matches a pattern of LIKE that is not constant. */
  def like(text: UTF8String, pattern: UTF8String, escape: UTF8String): Boolean =
    likePattern((pattern.toString, escape.toString)).matches(text)

  // ------------------------------------------------------------ masks

  /** The character that replaces each class of characters; empty text keeps the original character. */
  private case class Classes(upper: String, lower: String, digit: String, other: String) {
    /**
     * As in ksqlDB the first half of a surrogate pair is the whole character, and its second half is one of the class
     * of others. Where others are kept, the second half is kept with the first one.
     */
    def mask(text: String): String = {
      val out = new java.lang.StringBuilder(text.length)
      for (i <- 0 until text.length) {
        val by = replacement(text.codePointAt(i))
        if (by.nonEmpty) out.append(by) else if (!isSecondHalf(text, i)) out.appendCodePoint(text.codePointAt(i))
      }
      out.toString
    }

    private def isSecondHalf(text: String, i: Int): Boolean =
      i > 0 && Character.isSurrogatePair(text.charAt(i - 1), text.charAt(i))

    private def replacement(character: Int): String = Character.getType(character) match {
      case UPPERCASE_LETTER => upper
      case LOWERCASE_LETTER => lower
      case DECIMAL_DIGIT_NUMBER => digit
      case _ => other
    }
  }

  /** The character that is to replace a class; anything but one character is refused. */
  def maskCharacter(mask: UTF8String): UTF8String = {
    ensure((mask: String).length == 1, s"a class is replaced by one character, not by '$mask'")
    mask
  }

  /** MASK: each character replaced by that of its class: upper and lower case letters, digits, others. */
  def mask(text: UTF8String, u: UTF8String, l: UTF8String, d: UTF8String, o: UTF8String): UTF8String =
    Classes(u, l, d, o).mask(text)
  /** MASK_LEFT: the first `n` characters masked. */
  def maskLeft(text: UTF8String, n: Int, u: UTF8String, l: UTF8String, d: UTF8String, o: UTF8String): UTF8String =
    cut(text, n, (s, count) => count)((left, right) => Classes(u, l, d, o).mask(left) + right)
  /** MASK_RIGHT: the last `n` characters masked. */
  def maskRight(text: UTF8String, n: Int, u: UTF8String, l: UTF8String, d: UTF8String, o: UTF8String): UTF8String =
    cut(text, n, (s, count) => s - count)((left, right) => left + Classes(u, l, d, o).mask(right))
  /** MASK_KEEP_LEFT: all but the first `n` characters masked. */
  def maskKeepLeft(text: UTF8String, n: Int, u: UTF8String, l: UTF8String, d: UTF8String, o: UTF8String): UTF8String =
    cut(text, n, (s, count) => count)((left, right) => left + Classes(u, l, d, o).mask(right))
  /** MASK_KEEP_RIGHT: all but the last `n` characters masked. */
  def maskKeepRight(text: UTF8String, n: Int, u: UTF8String, l: UTF8String, d: UTF8String, o: UTF8String): UTF8String =
    cut(text, n, (s, count) => s - count)((left, right) => Classes(u, l, d, o).mask(left) + right)

  /** Cuts the text at the index that `at` computes from its size and the count, and joins the two parts again. */
  private def cut(text: String, n: Int, at: (Int, Int) => Int)(join: (String, String) => String): UTF8String = {
    ensure(n >= 0, s"the number of characters must not be negative: $n")
    val (left, right) = text.splitAt(at(text.length, Math.min(n, text.length)))
    join(left, right)
  }

  /** UUID: a random one, in its usual text form. */
  def uuid(): UTF8String = java.util.UUID.randomUUID.toString
}
