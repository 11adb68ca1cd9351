package org.apache.spark.sql.millstream

import java.io.IOException
import java.net.{ConnectException, URI}
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.nio.charset.StandardCharsets.UTF_8
import java.time.Duration
import java.util.Base64
import java.util.concurrent.{ConcurrentHashMap, ExecutionException, TimeUnit, TimeoutException}
import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution

/** A schema of a registry: its kind (AVRO, JSON, PROTOBUF), its text, and the schemas that it refers to, by name. */
case class Registered(kind: String, text: String, references: Seq[(String, Registered)])

/**
 * The registry does not answer, fails, or refuses our credentials. The record that needs it is not bad: it cannot be
 * read or written at the moment.
 */
class RegistryAway(message: String) extends RuntimeException(message, null, false, false)

/**
 * A client of a registry with Confluent's API, one for each address and JVM; a schema is requested once and cached.
 * A task of a streaming query repeats a request until the registry answers, also if it refuses our credentials (401),
 * which may be changed there: no record is dropped because of it. Elsewhere a client waits for the answer: after Rounds
 * attempts its statement fails with RegistryAway.
 * `url` may have the addresses of several servers, with commas between them: requests go to one until it does not
 * answer, then to the next. `shownUrl` is the same for messages, without users and passwords.
 */
class SchemaRegistry(url: String, settings: Map[String, String], shownUrl: String) extends Logging {
  import SchemaRegistry._

  private val servers = url.split(',').map(_.trim.stripSuffix("/")).filter(_.nonEmpty)
  /** The index of the server that requests go to. */
  @volatile private var current = 0
  /** The time of the last failure, and the failure: a request that waited during it fails at once. */
  @volatile private var failure = (System.nanoTime - FailureNanos, null: RegistryAway)

  private val loggedAt = new AtomicLong(System.nanoTime - LogNanos)
  private lazy val client = builder.build()
  private val schemas = new ConcurrentHashMap[Int, Registered]
  private val unknown = new ConcurrentHashMap[Int, Long]
  private val ids = new ConcurrentHashMap[(String, String), Int]

  /** The schema of an id; throws BadRecord if there is none. */
  def schema(id: Int): Registered = {
    val cached = schemas.get(id)
    if (cached != null) cached
    else {
      val requestedAt = unknown.getOrDefault(id, Long.MinValue)
      if (requestedAt + UnknownIdNanos > System.nanoTime) throw noSchema(id)
      // Not in computeIfAbsent: a client's request would wait for that of a task, which has no end while it is away.
      val read = requested(id)
      schemas.put(id, read)
      read
    }
  }

  /** The id of a schema under a subject; the schema is registered if it is not yet. */
  def id(subject: String, schema: Registered): Int = {
    val key = (subject, schema.text)
    if (!ids.containsKey(key)) ids.put(key, registered(subject, schema))
    ids.get(key)
  }

  private def noSchema(id: Int): BadRecord = new BadRecord(s"the registry has no schema of id $id")

  private def requested(id: Int): Registered = read(s"/schemas/ids/$id") match {
    case None =>
      if (unknown.size > 10000) unknown.clear()
      unknown.put(id, System.nanoTime)
      throw noSchema(id)
    case Some(node) => of(node)
  }

  private def of(node: JsonNode): Registered = {
    val references = node.path("references").elements.asScala.toSeq.map { r =>
      val path = s"/subjects/${encoded(r.get("subject").asText)}/versions/${r.get("version").asInt}"
      r.get("name").asText -> of(read(path).getOrElse(throw new BadRecord(s"the registry has no $path")))
    }
    Registered(node.path("schemaType").asText("AVRO"), node.get("schema").asText, references)
  }

  private def registered(subject: String, schema: Registered): Int = {
    val first = posted(subject, schema.kind, schema.text)
    val answer =
      if (first.statusCode == 422) withSchemaKeyword(schema).fold(first)(posted(subject, schema.kind, _)) else first
    if (answer.statusCode == 200) JsonTrees.parsed(answer.body).get("id").asInt
    else alikeId(subject, schema).getOrElse(throw refused(s"register a schema for $subject", answer))
  }

  /** The id of the subject's latest schema if it differs in the names of messages only: the bytes are the same. */
  private def alikeId(subject: String, schema: Registered): Option[Int] =
    if (schema.kind != "PROTOBUF") None
    else
      read(s"/subjects/${encoded(subject)}/versions/latest").filter { node =>
        val latest = of(node)
        latest.kind == schema.kind && ProtobufSchema.areAlike(first(latest), first(schema))
      }.map(_.get("id").asInt)

  private def first(schema: Registered) = new ProtobufSchema(schema).message("")

  private def posted(subject: String, kind: String, text: String): HttpResponse[String] = {
    val body = JsonTrees.newObject.put("schema", text)
    if (kind != "AVRO") body.put("schemaType", kind)
    val bytes = HttpRequest.BodyPublishers.ofString(body.toString)
    send(s"/subjects/${encoded(subject)}/versions", _.POST(bytes))
  }

  /** The `$schema` to add for Apicurio, which recognizes an object schema only by that (client.py does the same). */
  private def withSchemaKeyword(schema: Registered): Option[String] =
    if (schema.kind != "JSON" || schema.text.contains("\"$schema\"")) None
    else Some("{\"$schema\": \"http://json-schema.org/draft-07/schema#\", " + schema.text.trim.drop(1))

  private def read(path: String): Option[JsonNode] = {
    val answer = send(path, _.GET)
    if (answer.statusCode == 404) None
    else if (answer.statusCode == 200) Some(JsonTrees.parsed(answer.body))
    else throw refused(s"read $path", answer)
  }

  private def refused(action: String, answer: HttpResponse[String]): BadRecord =
    new BadRecord(s"the schema registry does not let us $action: ${answer.statusCode} ${answer.body.take(300)}")

  private def request(server: Int, path: String): HttpRequest.Builder = {
    val builder = HttpRequest.newBuilder(URI.create(servers(server) + path))
      .header("Content-Type", "application/vnd.schemaregistry.v1+json")
    settings.get("basic.auth.user.info").filter(_.nonEmpty).foreach { user =>
      builder.header("Authorization", "Basic " + Base64.getEncoder.encodeToString(user.getBytes(UTF_8)))
    }
    builder
  }

  /** The answer to a request; it is repeated while the registry is away or fails. Throws RegistryAway. */
  private def send(path: String, complete: HttpRequest.Builder => HttpRequest.Builder): HttpResponse[String] = {
    var attempt = 0
    val isTask = isStreamingTask
    if (!isTask && System.nanoTime - failure._1 < FailureNanos) throw failure._2
    while (true) {
      val server = current
      val seconds = if (isTask) TaskSeconds else ClientSeconds
      val answer = trySend(complete(request(server, path)).build(), seconds)
      answer match {
        case Right(response) if response.statusCode < 500 && !IsAway.contains(response.statusCode) => return response
        case other =>
          attempt += 1
          current = (server + 1) % servers.length
          val round = attempt / servers.length
          if (isTask) logWaiting(other)
          if (!isTask && round == Rounds) {
            val away = new RegistryAway(s"the schema registry $shownUrl ${why(other)}")
            failure = (System.nanoTime, away)
            throw away
          }
          // Each server gets the request once before a pause.
          if (attempt % servers.length == 0) Thread.sleep(Math.min(5000L, 100L << Math.min(round, 6)))
      }
    }
    throw new IllegalStateException
  }

  /** Logs that a query waits for the registry, at most once a minute. */
  private def logWaiting(outcome: Either[IOException, HttpResponse[String]]): Unit = {
    val (now, last) = (System.nanoTime, loggedAt.get)
    if (now - last > LogNanos && loggedAt.compareAndSet(last, now))
      logWarning(s"a query waits for the schema registry $shownUrl, which ${why(outcome)}")
  }

  /**
   * A proxy's page instead of JSON means that the registry is away: reading it throws an IOException too; so does other
   * JSON than a registry's. A registry's own 404 has an error code, or (Apicurio's) an empty body; any other 404 comes
   * from a proxy that finds no registry.
   */
  private def trySend(request: HttpRequest, seconds: Long): Either[IOException, HttpResponse[String]] =
    try {
      val answer = answerTo(request, seconds)
      val isForeign = answer.statusCode match {
        case 200 =>
          val root = JsonTrees.parsed(answer.body)
          if (request.method == "POST") !root.path("id").isInt else !root.path("schema").isTextual
        case 404 => !answer.body.isBlank && !JsonTrees.parsed(answer.body).has("error_code")
        case _ => false
      }
      if (isForeign) throw new IOException(s"it answers ${answer.body.take(100)}: is it a schema registry?")
      Right(answer)
    } catch { case e: IOException => Left(e) }

  /** The whole answer, or an IOException: a request's own timeout ends when the head of the answer is there. */
  private def answerTo(request: HttpRequest, seconds: Long): HttpResponse[String] = {
    val answer = client.sendAsync(request, HttpResponse.BodyHandlers.ofString)
    try answer.get(seconds, TimeUnit.SECONDS)
    catch {
      case _: TimeoutException => throw new IOException(s"no answer within $seconds s")
      case e: ExecutionException => throw e.getCause
    } finally answer.cancel(true)
  }

  private def why(outcome: Either[IOException, HttpResponse[String]]): String = outcome match {
    case Left(_: ConnectException) => "does not answer: no connection"
    case Left(e) => s"does not answer: ${Option(e.getMessage).getOrElse(e.toString)}"
    case Right(answer) => s"answered ${answer.statusCode}: ${answer.body.take(300)}"
  }

  private def builder: HttpClient.Builder = {
    val builder = HttpClient.newBuilder.version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(5))
    Tls.context(settings).foreach(builder.sslContext)
    builder
  }
}

/** The registries of this JVM by address. */
object SchemaRegistry {
  /** How long a streaming task waits for one answer, and how long a client does. */
  private val TaskSeconds = 10L
  private val ClientSeconds = 4L
  /** How often a client requests each server. */
  private val Rounds = 3
  /** The statuses below 500 that mean that a registry is away: it refuses our credentials, or too many requests. */
  private val IsAway = Set(401, 429)
  /** The shortest time, in ns, between two log entries about a registry that queries wait for. */
  private val LogNanos = TimeUnit.MINUTES.toNanos(1)
  /** How long after a failure, in ns, the calls of other clients fail without a request. */
  private val FailureNanos = 1_000_000_000L
  /** How long, in ns, an id that the registry does not know is not requested again. */
  private val UnknownIdNanos = 10_000_000_000L
  private val Settings = "spark.millstream.schema.registry."
  private val registries = new ConcurrentHashMap[String, SchemaRegistry]

  /** The registry at an address; "" means the one of Spark's settings, which also have the credentials. */
  def of(url: String): SchemaRegistry = registries.computeIfAbsent(url, { _ =>
    val sessionSettings = settings
    val address = if (url.isEmpty) sessionSettings.getOrElse("url", "") else url
    if (address.isEmpty) throw new BadRecord("no schema registry is configured: set ksql.schema.registry.url")
    // Python has removed the user from the address of the settings (model/secrets.py); other addresses have none.
    new SchemaRegistry(address, sessionSettings, if (url.isEmpty) sessionSettings.getOrElse("shown.url", url) else url)
  })

  private def settings: Map[String, String] =
    Option(SparkEnv.get).toSeq.flatMap(_.conf.getAllWithPrefix(Settings)).toMap

  /** Whether this thread is a task of a streaming query; the task of a pull query has a client that waits. */
  private def isStreamingTask: Boolean = {
    val task = TaskContext.get
    task != null && task.getLocalProperty(StreamExecution.QUERY_ID_KEY) != null
  }

  private def encoded(segment: String): String = java.net.URLEncoder.encode(segment, UTF_8).replace("+", "%20")
}
