import com.standardwebhooks.Webhook;
import com.standardwebhooks.exceptions.WebhookVerificationException;
import java.net.http.HttpHeaders;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/** Verifies the requests on standard input with the library of Standard Webhooks (webhook-verifiers.ts). */
public class VerifyWebhooks {
  public static void main(String[] args) throws Exception {
    var results = new ArrayList<Boolean>();
    var input = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
    for (var line : input.strip().split("\n")) {
      var fields = Arrays.stream(line.split(" ")).map(VerifyWebhooks::decoded).toList();
      var headers = Map.of(
          "webhook-id", List.of(fields.get(2)),
          "webhook-timestamp", List.of(fields.get(3)),
          "webhook-signature", List.of(fields.get(4)));
      results.add(isVerified(fields.get(0), fields.get(1), HttpHeaders.of(headers, (name, value) -> true)));
    }
    System.out.println(results);
  }

  private static String decoded(String base64) {
    return new String(Base64.getDecoder().decode(base64), StandardCharsets.UTF_8);
  }

  private static boolean isVerified(String key, String body, HttpHeaders headers) throws Exception {
    try {
      new Webhook(key).verify(body, headers);
      return true;
    } catch (WebhookVerificationException refused) {
      return false;
    }
  }
}
