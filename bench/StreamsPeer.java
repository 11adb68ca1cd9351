import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.WindowedSerdes;

/**
 * The bench workloads on Kafka Streams, the engine below ksqlDB, as a good programmer would write them by hand.
 *
 * <p>Arguments: WORKLOAD BOOTSTRAP IN OUT OTHER [setting=value ...]
 */
public final class StreamsPeer {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Serde<String> KEY = Serdes.String();
  private static final Serde<ObjectNode> VALUE =
      Serdes.serdeFrom((topic, node) -> write(node), (topic, bytes) -> read(bytes));

  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final Serde<Windowed<String>> WINDOWED =
      WindowedSerdes.timeWindowedSerdeFrom(String.class, MINUTE.toMillis());

  private StreamsPeer() {}

  public static void main(String[] arguments) {
    StreamsBuilder builder = new StreamsBuilder();
    KStream<String, ObjectNode> in = builder.stream(arguments[2], Consumed.with(KEY, VALUE));
    if (arguments[0].equals("window")) {
      windows(in).to(arguments[3], Produced.with(WINDOWED, VALUE));
    } else {
      answers(arguments[0], in, builder, arguments[4]).to(arguments[3], Produced.with(KEY, VALUE));
    }
    KafkaStreams streams = new KafkaStreams(builder.build(), settings(arguments));
    Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(5))));
    streams.start();
  }

  private static KStream<String, ObjectNode> answers(
      String workload, KStream<String, ObjectNode> in, StreamsBuilder builder, String other) {
    switch (workload) {
      case "filter":
        return in.filter((key, row) -> row.get("A").asLong() > 0).mapValues(StreamsPeer::projected);
      case "count":
        return in.groupByKey(Grouped.with(KEY, VALUE))
            .aggregate(StreamsPeer::nothing, (key, row, sofar) -> counted(row, sofar), Materialized.with(KEY, VALUE))
            .toStream();
      case "table-join":
        return in.leftJoin(
            builder.table(other, Consumed.with(KEY, VALUE)), StreamsPeer::named, Joined.with(KEY, VALUE, VALUE));
      case "stream-join":
        return in.join(
            builder.stream(other, Consumed.with(KEY, VALUE)),
            StreamsPeer::paired,
            JoinWindows.ofTimeDifferenceAndGrace(Duration.ofMillis(500), Duration.ofMinutes(5)),
            StreamJoined.with(KEY, VALUE, VALUE));
      default:
        throw new IllegalArgumentException("no workload " + workload);
    }
  }

  private static KStream<Windowed<String>, ObjectNode> windows(KStream<String, ObjectNode> in) {
    return in.groupByKey(Grouped.with(KEY, VALUE))
        .windowedBy(TimeWindows.ofSizeAndGrace(MINUTE, Duration.ofDays(1)))
        .aggregate(
            () -> JSON.createObjectNode().put("N", 0L),
            (key, row, sofar) -> JSON.createObjectNode().put("N", sofar.get("N").asLong() + 1),
            Materialized.with(KEY, VALUE))
        .toStream();
  }

  private static ObjectNode projected(ObjectNode row) {
    return JSON.createObjectNode().put("A2", row.get("A").asLong() * 2).put("B", row.get("B").asText().toUpperCase());
  }

  private static ObjectNode nothing() {
    return JSON.createObjectNode().put("N", 0L).put("S", 0L);
  }

  private static ObjectNode counted(ObjectNode row, ObjectNode sofar) {
    return JSON.createObjectNode()
        .put("N", sofar.get("N").asLong() + 1)
        .put("S", sofar.get("S").asLong() + row.get("A").asLong());
  }

  private static ObjectNode named(ObjectNode row, ObjectNode name) {
    return JSON.createObjectNode()
        .put("A", row.get("A").asLong())
        .put("NAME", name == null ? null : name.get("NAME").asText());
  }

  private static ObjectNode paired(ObjectNode left, ObjectNode right) {
    return JSON.createObjectNode().put("A", left.get("A").asLong()).put("C", right.get("C").asLong());
  }

  private static Properties settings(String[] arguments) {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", arguments[1]);
    settings.put("application.id", "peer-" + System.nanoTime());
    settings.put("auto.offset.reset", "earliest");
    for (int i = 5; i < arguments.length; i++) {
      String[] setting = arguments[i].split("=", 2);
      settings.put(setting[0], setting[1]);
    }
    return settings;
  }

  private static byte[] write(ObjectNode node) {
    try {
      return node == null ? null : JSON.writeValueAsBytes(node);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private static ObjectNode read(byte[] bytes) {
    try {
      return bytes == null ? null : (ObjectNode) JSON.readTree(bytes);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }
}
