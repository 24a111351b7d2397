import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;

/** Kafka Streams: one application, of whose threads each makes one request at a time. */
final class Streams {
  private static final int THREADS = 10;

  public static void main(String[] args) {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", Webhook.BROKERS);
    settings.put("application.id", Webhook.GROUP + "streams");
    settings.put("session.timeout.ms", Webhook.SESSION_TIMEOUT_MS);
    settings.put("auto.offset.reset", "earliest");
    settings.put("num.stream.threads", THREADS);
    settings.put("default.key.serde", Serdes.ByteArraySerde.class);
    settings.put("default.value.serde", Serdes.ByteArraySerde.class);
    StreamsBuilder builder = new StreamsBuilder();
    Webhook.routes()
        .forEach((topic, url) -> builder.<byte[], byte[]>stream(topic).process(() -> new Post(url)));
    new KafkaStreams(builder.build(), settings).start();
  }

  private static final class Post extends ContextualProcessor<byte[], byte[], Void, Void> {
    private final String url;

    Post(String url) {
      this.url = url;
    }

    /** Again after a second, until it is accepted: a processor that throws ends its thread. */
    @Override
    public void process(Record<byte[], byte[]> record) {
      HttpRequest request = Webhook.request(url, record.headers(), record.value());
      try {
        while (!isAccepted(request)) Thread.sleep(1_000);
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    private static boolean isAccepted(HttpRequest request) throws InterruptedException {
      try {
        return Webhook.isAccepted(Webhook.CLIENT.send(request, BodyHandlers.discarding()));
      } catch (IOException e) {
        return false;
      }
    }
  }
}
