import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.apache.kafka.common.header.Headers;

/** What the Java peers share: their settings, and the signed request for a record. */
final class Webhook {
  static final String BROKERS = System.getenv("PEER_BROKERS");
  static final String GROUP = System.getenv("PEER_GROUP");
  static final int SESSION_TIMEOUT_MS = 10_000;
  static final Duration TIMEOUT = Duration.ofSeconds(5);
  static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(TIMEOUT).build();

  private static final SecretKeySpec KEY =
      new SecretKeySpec(System.getenv("PEER_SECRET").getBytes(), "HmacSHA1");

  private Webhook() {}

  /** URLs by topic. */
  static Map<String, String> routes() {
    Map<String, String> routes = new LinkedHashMap<>();
    Arrays.stream(System.getenv("PEER_ROUTES").split(" "))
        .map(route -> route.split("=", 2))
        .forEach(parts -> routes.put(parts[0], parts[1]));
    return routes;
  }

  static HttpRequest request(String url, Headers headers, byte[] body) {
    return HttpRequest.newBuilder(URI.create(url))
        .timeout(TIMEOUT)
        .header("Content-Type", "application/json")
        .header("X-Switchyard-Message-Id", messageId(headers))
        .header("X-Signature", signature(body))
        .POST(HttpRequest.BodyPublishers.ofByteArray(body))
        .build();
  }

  static boolean isAccepted(HttpResponse<?> response) {
    return response.statusCode() / 100 == 2;
  }

  static String messageId(Headers headers) {
    return new String(headers.lastHeader("switchyard-message-id").value());
  }

  static String signature(byte[] body) {
    try {
      Mac mac = Mac.getInstance("HmacSHA1");
      mac.init(KEY);
      return HexFormat.of().formatHex(mac.doFinal(body));
    } catch (java.security.GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }
}
