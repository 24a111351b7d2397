import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.*;
import java.net.*;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.ResponseHeader;
import org.apache.kafka.common.utils.Utils;

/**
 * A broker whose messages Kafka's own classes decode and encode: MessageBroker NAME... The first line of its output has
 * its port and the messages' definitions. Each other line is a request, whose response it reads from standard input.
 */
public class MessageBroker {
  private static final ObjectMapper JSON = new ObjectMapper().configure(JsonParser.Feature.ALLOW_COMMENTS, true);
  private static final SynchronousQueue<String> RESPONSES = new SynchronousQueue<>();

  public static void main(String[] names) throws Exception {
    var server = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
    var first = JSON.createObjectNode().put("port", server.getLocalPort());
    for (var name : names) {
      first.set(name, JSON.readTree(ApiMessage.class.getResourceAsStream("/common/message/" + name + ".json")));
    }
    System.out.println(first);
    var threads = Executors.newCachedThreadPool();
    threads.submit(() -> {
      for (;;) {
        var socket = server.accept();
        threads.submit(() -> {
          serve(socket);
          return null;
        });
      }
    });
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (var line = input.readLine(); line != null; line = input.readLine()) RESPONSES.put(line);
    System.exit(0);
  }

  private static void serve(Socket socket) throws Exception {
    try (socket) {
      var input = new DataInputStream(socket.getInputStream());
      for (;;) socket.getOutputStream().write(respond(input.readNBytes(input.readInt())));
    }
  }

  private static synchronized byte[] respond(byte[] bytes) throws Exception {
    try {
      return exchange(bytes);
    } catch (RuntimeException | ReflectiveOperationException error) {
      var cause = error.getCause() == null ? error : error.getCause();
      System.out.println(JSON.createObjectNode().put("problem", cause.toString()));
      // The connection is closed when the program has noted the problem.
      RESPONSES.take();
      throw error;
    }
  }

  private static byte[] exchange(byte[] bytes) throws Exception {
    var buffer = ByteBuffer.wrap(bytes);
    var header = RequestHeader.parse(buffer);
    var version = header.apiVersion();
    var type = ApiMessageType.fromApiKey(header.apiKey().id);
    var request = type.newRequest();
    var sent = buffer.slice();
    request.read(new ByteBufferAccessor(buffer), version);
    if (!sent.equals(MessageUtil.toByteBufferAccessor(request, version).buffer())) {
      throw new IllegalArgumentException("Kafka encodes " + request + " in other bytes");
    }
    var line = JSON.createObjectNode().put("apiKey", type.apiKey()).put("version", version);
    var json = (JsonNode) convert("write", request, request.getClass(), request, version);
    if (request instanceof ProduceRequestData produce) addRecords(produce, json.findParents("records").iterator());
    line.set("body", json);
    System.out.println(line);

    var given = JSON.readTree(RESPONSES.take());
    var response = (ApiMessage) convert("read", type.newResponse(), JsonNode.class, given.get("body"), version);
    var headerVersion = type.responseHeaderVersion(version);
    var head = new ResponseHeader(header.correlationId(), headerVersion).data();
    if (headerVersion > 0) {
      // A later Kafka may send tagged fields that are unknown to clients.
      head.unknownTaggedFields().add(new RawTaggedField(7, new byte[] {1, 2, 3}));
      response.unknownTaggedFields().add(new RawTaggedField(300, new byte[200]));
    }
    var start = MessageUtil.toByteBufferAccessor(head, headerVersion).buffer();
    var body = MessageUtil.toByteBufferAccessor(response, version).buffer();
    var whole = ByteBuffer.allocate(4 + start.remaining() + body.remaining()).position(4).put(start).put(body).array();
    var kept = Arrays.copyOf(whole, 8 + (int) ((whole.length - 8) * given.path("kept").asDouble(1)));
    var patch = HexFormat.of().parseHex(given.path("patch").asText(""));
    var at = 8 + (int) ((kept.length - 8) * given.path("at").asDouble());
    System.arraycopy(patch, 0, kept, at, Math.min(patch.length, kept.length - at));
    ByteBuffer.wrap(kept).putInt(0, given.path("length").asInt(kept.length - 4));
    return kept;
  }

  private static Object convert(String method, ApiMessage message, Class<?> from, Object value, short version) throws Exception {
    var converter = Class.forName(message.getClass().getName() + "JsonConverter");
    return converter.getMethod(method, from, short.class).invoke(null, value, version);
  }

  private static void addRecords(ProduceRequestData produce, Iterator<JsonNode> partitions) {
    for (var topic : produce.topicData()) {
      for (var partition : topic.partitionData()) {
        var records = ((ObjectNode) partitions.next()).putArray("records");
        for (var batch : ((MemoryRecords) partition.records()).batches()) {
          batch.ensureValid();
          for (var record : batch) {
            var node = records.addObject().put("sequence", record.sequence()).put("timestamp", record.timestamp());
            node.put("producerId", batch.producerId()).put("producerEpoch", batch.producerEpoch());
            node.put("key", Utils.toNullableArray(record.key())).put("value", Utils.toNullableArray(record.value()));
            var headers = node.putArray("headers");
            for (var header : record.headers()) headers.addArray().add(header.key()).add(header.value());
          }
        }
      }
    }
  }
}
