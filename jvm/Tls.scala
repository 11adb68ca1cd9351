package org.apache.spark.sql.millstream

import java.io.{ByteArrayInputStream, File}
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.Files
import java.security.{GeneralSecurityException, KeyFactory, KeyStore, PrivateKey}
import java.security.cert.{Certificate, CertificateFactory}
import java.security.spec.PKCS8EncodedKeySpec
import java.util.Base64
import javax.net.ssl.{KeyManager, KeyManagerFactory, SSLContext, TrustManager, TrustManagerFactory}

import scala.jdk.CollectionConverters._

/** TLS by Confluent's settings: whom to trust and who we are, each in a file of JKS, PKCS12 or PEM. */
object Tls {
  private val Nothing = Array.emptyCharArray

  /** The context that ssl.truststore.… and ssl.keystore.… ask for; None where they name no file. */
  def context(settings: Map[String, String]): Option[SSLContext] = {
    val trust = file(settings, "ssl.truststore.location").map(f => trusting(store(f, password(settings, "truststore"))))
    val own = file(settings, "ssl.keystore.location").map(f => proving(f, settings))
    if (trust.isEmpty && own.isEmpty) None
    else {
      val made = SSLContext.getInstance("TLS")
      made.init(own.orNull, trust.orNull, null)
      Some(made)
    }
  }

  private def file(settings: Map[String, String], name: String): Option[File] =
    settings.get(name).filter(_.nonEmpty).map(new File(_))

  private def password(settings: Map[String, String], which: String): Array[Char] =
    settings.get(s"ssl.$which.password").map(_.toCharArray).getOrElse(Nothing)

  private def trusting(keys: KeyStore): Array[TrustManager] = {
    val made = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm)
    made.init(keys)
    made.getTrustManagers
  }

  private def proving(file: File, settings: Map[String, String]): Array[KeyManager] = {
    val whole = password(settings, "keystore")
    val one = settings.get("ssl.key.password").filter(_.nonEmpty).map(_.toCharArray).getOrElse(whole)
    val made = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm)
    made.init(store(file, whole), if (isPem(file)) Nothing else one)
    made.getKeyManagers
  }

  private def isPem(file: File): Boolean = new String(Files.readAllBytes(file.toPath), ISO_8859_1).contains("-----BEGIN ")

  private def store(file: File, password: Array[Char]): KeyStore =
    if (isPem(file)) ofPem(new String(Files.readAllBytes(file.toPath), ISO_8859_1))
    else KeyStore.getInstance(file, password)

  private def ofPem(text: String): KeyStore = {
    val keys = KeyStore.getInstance(KeyStore.getDefaultType)
    keys.load(null, null)
    val held = CertificateFactory.getInstance("X.509").generateCertificates(
      new ByteArrayInputStream(sections(text, "CERTIFICATE").mkString.getBytes(ISO_8859_1))).asScala.toArray[Certificate]
    sections(text, "PRIVATE KEY").headOption match {
      case Some(key) => keys.setKeyEntry("own", privateKey(key), Nothing, held)
      case None => held.zipWithIndex.foreach { case (certificate, i) => keys.setCertificateEntry(s"trusted$i", certificate) }
    }
    keys
  }

  private def sections(text: String, name: String): Seq[String] =
    s"(?s)-----BEGIN $name-----.*?-----END $name-----\\s*".r.findAllIn(text).toSeq

  private def privateKey(section: String): PrivateKey = {
    val der = Base64.getMimeDecoder.decode(section.replaceAll("-----[A-Z ]+-----", ""))
    val found = Seq("RSA", "EC", "Ed25519").iterator.flatMap { kind =>
      try Some(KeyFactory.getInstance(kind).generatePrivate(new PKCS8EncodedKeySpec(der)))
      catch { case _: GeneralSecurityException => None }
    }
    found.nextOption().getOrElse(throw new BadRecord("the key in ssl.keystore.location is none of RSA, EC, Ed25519"))
  }
}
