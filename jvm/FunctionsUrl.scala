package org.apache.spark.sql.millstream

import java.net.{URI, URLDecoder, URLEncoder}
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Functions of URLs; one that is no URI throws. */
object UrlFunctions extends Family {
  import Texts._

  private val text = StringType

  val entries: Seq[Entry] = Seq(
    fn("urlEncode", text, text),
    fn("urlDecode", text, text),
    fn("urlFragment", text, text),
    fn("urlHost", text, text),
    fn("urlPath", text, text),
    fn("urlProtocol", text, text),
    fn("urlQuery", text, text),
    fn("urlPort", IntegerType, text),
    fn("urlParameter", text, text, text))

  def urlEncode(value: UTF8String): UTF8String = URLEncoder.encode(value, UTF_8)
  def urlDecode(value: UTF8String): UTF8String = URLDecoder.decode(value, UTF_8)
  def urlFragment(url: UTF8String): UTF8String = new URI(url).getFragment
  def urlHost(url: UTF8String): UTF8String = new URI(url).getHost
  def urlPath(url: UTF8String): UTF8String = new URI(url).getPath
  def urlProtocol(url: UTF8String): UTF8String = new URI(url).getScheme
  def urlQuery(url: UTF8String): UTF8String = new URI(url).getQuery
  def urlPort(url: UTF8String): java.lang.Integer = new URI(url).getPort match { case -1 => null; case port => port }

  /** Split before it is decoded, so that an encoded & or = belongs to the value. */
  def urlParameter(url: UTF8String, name: UTF8String): UTF8String = {
    val wanted = name.toString
    Option(new URI(url).getRawQuery).toSeq
      .flatMap(_.split("&"))
      .map(_.split("=", 2))
      .collectFirst { case found if URLDecoder.decode(found(0), UTF_8) == wanted => found.drop(1).mkString }
      .map(value => UTF8String.fromString(URLDecoder.decode(value, UTF_8)))
      .orNull
  }
}
