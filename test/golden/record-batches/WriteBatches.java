import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.common.utils.Utils;

/** Writes record batches and murmur2 hashes with Kafka's own Java classes; see README.md. */
public class WriteBatches {
  static Path folder;

  public static void main(String[] args) throws Exception {
    folder = Path.of(args[0]);
    write("java-none", MemoryRecords.withRecords(Compression.NONE, records()));
    write("java-gzip", MemoryRecords.withRecords(Compression.gzip().build(), records()));
    write("java-snappy", MemoryRecords.withRecords(Compression.snappy().build(), records()));
    write("java-lz4", MemoryRecords.withRecords(Compression.lz4().build(), records()));
    write("java-zstd", MemoryRecords.withRecords(Compression.zstd().build(), records()));
    write("java-log-append-time", logAppendTime());
    write("java-transaction", transaction());
    write("java-empty", empty());
    Files.writeString(folder.resolve("murmur2.json"), murmur2());
  }

  static SimpleRecord[] records() {
    return new SimpleRecord[] {
      record(0, "user-1", "{\"type\":\"track\"}", header("source", "web")),
      record(1, null, "no key"),
      record(2, "tombstone", null),
      record(3, null, null, header("only", "headers")),
      record(
          5_000_000_000L,
          "headers",
          "",
          header("repeated", "1"),
          header("repeated", "2"),
          header("null", null),
          header("empty", ""),
          header("__proto__", "harmless"),
          header("0", "integer-like"),
          header("größe", "ünïcode")),
      record(-1000, "big", "0123456789".repeat(7000)),
    };
  }

  static SimpleRecord record(long after, String key, String value, Header... headers) {
    return new SimpleRecord(1_700_000_000_000L + after, bytes(key), bytes(value), headers);
  }

  static Header header(String name, String value) {
    return new RecordHeader(name, bytes(value));
  }

  static byte[] bytes(String text) {
    return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
  }

  static MemoryRecords logAppendTime() {
    MemoryRecords records = MemoryRecords.withRecords(Compression.NONE, records());
    records.batches().forEach(b -> b.setMaxTimestamp(TimestampType.LOG_APPEND_TIME, 1_800_000_000_000L));
    return records;
  }

  /** Offsets 0-1 of producer 7, then its abort marker, then 3-4 of producer 8 and its commit marker. */
  static MemoryRecords transaction() {
    ByteBuffer all = ByteBuffer.allocate(10_000);
    for (int producer = 7; producer <= 8; producer++) {
      long offset = producer == 7 ? 0 : 3;
      all.put(
          MemoryRecords.withTransactionalRecords(
                  offset, Compression.NONE, producer, (short) 0, 0, 1,
                  record(0, "\0\0\0\0", "of " + producer), record(1, "b", "of " + producer))
              .buffer());
      ControlRecordType type = producer == 7 ? ControlRecordType.ABORT : ControlRecordType.COMMIT;
      all.put(
          MemoryRecords.withEndTransactionMarker(
                  offset + 2, 1_700_000_000_002L, 1, producer, (short) 0,
                  new EndTransactionMarker(type, 3))
              .buffer());
    }
    all.flip();
    return MemoryRecords.readableRecords(all);
  }

  /** What compaction leaves of a batch whose records are all gone: offsets 100 to 109. */
  static MemoryRecords empty() {
    ByteBuffer buffer = ByteBuffer.allocate(DefaultRecordBatch.RECORD_BATCH_OVERHEAD);
    DefaultRecordBatch.writeEmptyHeader(
        buffer, RecordBatch.MAGIC_VALUE_V2, 9, (short) 0, 0, 100, 109, 4,
        TimestampType.CREATE_TIME, 1_700_000_000_000L, false, false);
    buffer.flip();
    return MemoryRecords.readableRecords(buffer);
  }

  static String murmur2() {
    Random random = new Random(1);
    StringBuilder lines = new StringBuilder("[\n");
    for (int length = 0; length <= 40; length++) {
      byte[] key = new byte[length];
      random.nextBytes(key);
      StringBuilder hex = new StringBuilder();
      for (byte b : key) hex.append(String.format("%02x", b));
      if (length > 0) lines.append(",\n");
      lines.append("  [\"").append(hex).append("\", ").append(Utils.murmur2(key)).append("]");
    }
    return lines.append("\n]\n").toString();
  }

  static void write(String name, MemoryRecords records) throws Exception {
    ByteBuffer buffer = records.buffer().duplicate();
    byte[] bytes = new byte[buffer.remaining()];
    buffer.get(bytes);
    Files.write(folder.resolve(name + ".bin"), bytes);
  }
}
