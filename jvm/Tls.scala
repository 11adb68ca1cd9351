package org.apache.spark.sql.millstream

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path}
import javax.net.ssl.SSLContext

import scala.jdk.CollectionConverters._

import org.apache.kafka.common.KafkaException
import org.apache.kafka.common.config.ConfigDef
import org.apache.kafka.common.security.ssl.DefaultSslEngineFactory

/**
 * TLS to a schema registry, configured as for Kafka's clients by Confluent's settings (ssl.truststore.…,
 * ssl.keystore.…). PEM stores are recognized by their bytes; Java distinguishes the other two types by itself.
 */
object Tls {
  private val Stores = Seq("ssl.truststore", "ssl.keystore")

  /** The context that the settings describe; None if they name no file. Throws BadRecord if a file is not a store. */
  def context(settings: Map[String, String]): Option[SSLContext] = {
    val stores = Stores.filter(store => settings.get(s"$store.location").exists(_.nonEmpty))
    if (stores.isEmpty) None
    else
      try {
        val factory = new DefaultSslEngineFactory
        val typed = new ConfigDef().withClientSslSupport().parse(stores.flatMap(of(_, settings)).toMap.asJava)
        factory.configure(typed)
        Some(factory.sslContext)
      } catch { case e: KafkaException => throw new BadRecord(s"no TLS to the schema registry: ${reason(e)}") }
  }

  /** Kafka's settings of one store; a PEM store has no password except that of the private key. */
  private def of(store: String, settings: Map[String, String]): Map[String, String] = {
    val location = settings(s"$store.location")
    val password = settings.getOrElse(s"$store.password", "")
    val keyPassword = settings.get("ssl.key.password").filter(_.nonEmpty)
    val text = new String(Files.readAllBytes(Path.of(location)), ISO_8859_1)
    val protection =
      if (!text.contains("-----BEGIN ")) Map(s"$store.type" -> "JKS", s"$store.password" -> password) ++
        keyPassword.map("ssl.key.password" -> _)
      else Map(s"$store.type" -> "PEM") ++
        Option.when(text.contains("-----BEGIN ENCRYPTED "))("ssl.key.password" -> keyPassword.getOrElse(password))
    protection + (s"$store.location" -> location)
  }

  private def reason(e: Throwable): String =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).map(_.getMessage).distinct.mkString(": ")
}
