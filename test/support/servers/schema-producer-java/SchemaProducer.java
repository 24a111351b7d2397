// Writes calls with Java's client and the serializer of Apicurio's registry.
//
//   java -cp JARS SchemaProducer.java BROKERS TOPIC REGISTRY SCHEMA FRAMING CODECS COUNT
//
// REGISTRY: its v2 API. SCHEMA: the path of order-completed.avsc.
// FRAMING: prefix (4-byte ids, as Confluent's), prefix-8 or header-own (Apicurio's own: 8-byte ids
// before the value, or in a header).
// The same call as schema_producer.py writes, in schema-producers.ts as it arrives.

import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

public class SchemaProducer {
  public static void main(String[] args) throws Exception {
    Schema schema = new Schema.Parser().parse(Files.readString(Path.of(args[3])));
    for (String codec : args[5].split(",")) {
      send(args, schema, args[4], codec);
    }
  }

  static void send(String[] args, Schema schema, String framing, String codec) throws Exception {
    Map<String, Object> config = new HashMap<>();
    config.put("bootstrap.servers", args[0]);
    config.put("compression.type", codec);
    config.put("linger.ms", 50);
    config.put("key.serializer", StringSerializer.class.getName());
    config.put("value.serializer", AvroKafkaSerializer.class.getName());
    config.put("apicurio.registry.url", args[2]);
    config.put("apicurio.registry.auto-register", true);
    config.put("apicurio.registry.artifact-resolver-strategy",
        "io.apicurio.registry.serde.avro.strategy.RecordIdStrategy");
    // It would put them into headers of its own.
    config.put("apicurio.registry.headers.enabled", framing.equals("header-own"));
    if (framing.equals("prefix")) {
      config.put("apicurio.registry.id-handler", "io.apicurio.registry.serde.Legacy4ByteIdHandler");
      config.put("apicurio.registry.use-id", "contentId");
    }
    try (KafkaProducer<String, GenericRecord> producer = new KafkaProducer<>(config)) {
      for (int index = 0; index < Integer.parseInt(args[6]); index += 1) {
        String id = "java-avro-" + framing + "-" + codec + "-" + index;
        producer.send(new ProducerRecord<>(args[1], "u1", call(schema, id))).get();
      }
    }
  }

  static GenericRecord call(Schema schema, String id) {
    Schema inner = schema.getField("properties").schema();
    Schema item = inner.getField("items").schema().getElementType();
    long micros = Instant.parse("2026-03-01T09:30:15Z").getEpochSecond() * 1_000_000 + 250_123;
    GenericRecord one = new GenericData.Record(item);
    one.put("sku", "s1");
    one.put("quantity", 2);
    GenericRecord properties = new GenericData.Record(inner);
    properties.put("order_id", 9007199254740993L);
    properties.put("total", ByteBuffer.wrap(new BigDecimal("12.34").unscaledValue().toByteArray()));
    properties.put("status",
        new GenericData.EnumSymbol(inner.getField("status").schema(), "PAID"));
    properties.put("day", (int) LocalDate.of(2026, 3, 1).toEpochDay());
    properties.put("seen_at", micros);
    properties.put("note", null);
    properties.put("weights", Map.of("a", 0.5, "b", Double.NaN));
    properties.put("items", List.of(one));
    properties.put("raw", ByteBuffer.wrap(new byte[] {0, -1}));
    properties.put("either", 7L);
    GenericRecord call = new GenericData.Record(schema);
    call.put("type", "track");
    call.put("message_id", id);
    call.put("user_id", "u1");
    call.put("event", "Order Completed");
    call.put("timestamp", micros);
    call.put("properties", properties);
    return call;
  }
}
