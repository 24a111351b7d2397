import com.google.gson.Gson;
import com.google.gson.reflect.TypeToken;
import com.segment.analytics.Analytics;
import com.segment.analytics.Callback;
import com.segment.analytics.messages.AliasMessage;
import com.segment.analytics.messages.GroupMessage;
import com.segment.analytics.messages.IdentifyMessage;
import com.segment.analytics.messages.Message;
import com.segment.analytics.messages.MessageBuilder;
import com.segment.analytics.messages.PageMessage;
import com.segment.analytics.messages.ScreenMessage;
import com.segment.analytics.messages.TrackMessage;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

/** Sends the calls of standard input with Segment's library: JavaClient ENDPOINT WRITE_KEY */
public class JavaClient {
  private static final TypeToken<List<Map<String, Object>>> CALLS = new TypeToken<>() {};

  public static void main(String[] args) throws Exception {
    var input = new InputStreamReader(System.in, StandardCharsets.UTF_8);
    List<Map<String, Object>> calls = new Gson().fromJson(input, CALLS.getType());
    var done = new CountDownLatch(calls.size());
    var callback = new Callback() {
      @Override
      public void success(Message message) {
        done.countDown();
      }

      @Override
      public void failure(Message message, Throwable error) {
        done.countDown();
      }
    };
    var analytics = Analytics.builder(args[1]).endpoint(args[0]).callback(callback).build();
    for (var call : calls) analytics.enqueue(builder(call));
    analytics.flush();
    done.await();
    analytics.shutdown();
  }

  private static MessageBuilder<?, ?> builder(Map<String, Object> call) {
    MessageBuilder<?, ?> builder = specific(call);
    if (call.get("userId") instanceof String id) builder.userId(id);
    if (call.get("anonymousId") instanceof String id) builder.anonymousId(id);
    builder.context(map(call, "context"));
    map(call, "integrations").forEach((name, on) -> builder.enableIntegration(name, (Boolean) on));
    return builder;
  }

  private static MessageBuilder<?, ?> specific(Map<String, Object> call) {
    return switch ((String) call.get("type")) {
      case "identify" -> IdentifyMessage.builder().traits(map(call, "traits"));
      case "track" -> TrackMessage.builder((String) call.get("event")).properties(map(call, "properties"));
      case "page" -> PageMessage.builder((String) call.get("name")).properties(map(call, "properties"));
      case "screen" -> ScreenMessage.builder((String) call.get("name")).properties(map(call, "properties"));
      case "group" -> GroupMessage.builder((String) call.get("groupId")).traits(map(call, "traits"));
      case "alias" -> AliasMessage.builder((String) call.get("previousId"));
      default -> throw new IllegalArgumentException(call.toString());
    };
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> map(Map<String, Object> call, String name) {
    return (Map<String, Object>) call.getOrDefault(name, Map.of());
  }
}
