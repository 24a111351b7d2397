import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.stream.StreamSupport;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;

/**
 * kafka-clients and java.net.http, after "Manual Offset Control" in the documentation of KafkaConsumer: a
 * thread per destination polls, makes all requests of what it polled, and commits.
 */
final class JavaClient {
  private static final Executor IN_A_SECOND =
      CompletableFuture.delayedExecutor(1, TimeUnit.SECONDS);

  public static void main(String[] args) {
    Webhook.routes().forEach((topic, url) -> new Thread(() -> consume(topic, url)).start());
  }

  private static void consume(String topic, String url) {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", Webhook.BROKERS);
    settings.put("group.id", Webhook.GROUP + topic);
    settings.put("session.timeout.ms", Webhook.SESSION_TIMEOUT_MS);
    settings.put("enable.auto.commit", false);
    settings.put("auto.offset.reset", "earliest");
    // As many requests at a time as Switchyard makes.
    settings.put("max.poll.records", 64);
    String bytes = "org.apache.kafka.common.serialization.ByteArrayDeserializer";
    settings.put("key.deserializer", bytes);
    settings.put("value.deserializer", bytes);
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings)) {
      consumer.subscribe(List.of(topic));
      while (true) {
        var records = consumer.poll(Duration.ofMillis(100));
        if (records.isEmpty()) continue;
        var posts =
            StreamSupport.stream(records.spliterator(), false).map(each -> post(url, each));
        CompletableFuture.allOf(posts.toArray(CompletableFuture[]::new)).join();
        consumer.commitSync();
      }
    }
  }

  /** Again after a second, until it is accepted. */
  private static CompletableFuture<Void> post(String url, ConsumerRecord<byte[], byte[]> record) {
    return Webhook.CLIENT
        .sendAsync(
            Webhook.request(url, record.headers(), record.value()), BodyHandlers.discarding())
        .thenAccept(
            response -> {
              if (!Webhook.isAccepted(response))
                throw new CompletionException(new IllegalStateException("not accepted"));
            })
        .exceptionallyCompose(
            error ->
                CompletableFuture.runAsync(() -> {}, IN_A_SECOND)
                    .thenCompose(nothing -> post(url, record)));
  }
}
