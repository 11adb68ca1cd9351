package org.apache.spark.sql.millstream

import java.net.URI

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Parts of URLs; text that is not a URI throws a Fault. */
object UrlFunctions extends Family {
  import Texts._

  override val functions: Seq[SqlFunction] = Seq(
    part("urlFragment")(_.getFragment),
    part("urlHost")(_.getHost),
    part("urlPath")(_.getPath),
    part("urlProtocol")(_.getScheme),
    part("urlQuery")(_.getQuery),
    fn("urlPort", IntegerType, StringType),
    fn("urlParameter", StringType, StringType, StringType))

  private def part(name: String)(read: URI => String): SqlFunction =
    generic(name)(_ => (StringType, strict { case Seq(url) => asSpark(read(new URI(url.toString))) }))

  /** URL_EXTRACT_PORT; null (boxed) if the URL names none. */
  def urlPort(url: UTF8String): java.lang.Integer = new URI(url).getPort match { case -1 => null; case port => port }

  /** URL_EXTRACT_PARAMETER: as in ksqlDB the query is decoded before it is split, and a + in it is kept. */
  def urlParameter(url: UTF8String, name: UTF8String): UTF8String = {
    val parameter = name.toString
    Option(new URI(url).getQuery).toSeq
      .flatMap(_.split("&", -1))
      .map(_.split("=", 2))
      .collectFirst { case pair if pair(0) == parameter => UTF8String.fromString(pair.drop(1).mkString) }
      .orNull
  }
}
