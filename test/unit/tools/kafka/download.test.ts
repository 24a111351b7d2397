import { expect, test } from "vitest";

import { downloadedBytes } from "../../../../tools/kafka/download.ts";
import { clientsVersion } from "../../../../tools/kafka/jars.ts";

test.each<[string, number | null]>([
  ["[INFO] Downloaded from central: https://example.com/a-1.jar (5.2 MB at 3.1 MB/s)", 5_200_000],
  ["[INFO] Downloaded from central: https://example.com/a-1.pom (812 B at 9 kB/s)", 812],
  ["Downloaded from mirror: https://example.com/a.tar.gz (105 kB at 1.0 MB/s)", 105_000],
  ["[INFO] Downloaded from central: https://example.com/a-1.jar (1.1 GB)", 1_100_000_000],
  ["[INFO] Downloaded from central: https://example.com/a-1.jar", 0],
  ["[INFO] Downloading from central: https://example.com/a-1.jar", null],
  ["[ERROR] the repository is not reachable (5 MB)", null],
])("%s", (line, bytes) => {
  expect(downloadedBytes(line)).toBe(bytes);
});

test.each([
  ["3.9.2", "3.9.2"],
  ["4.0.2", "4.0.2"],
  ["4.3.1", "4.3.1"],
  ["4.4.0", "4.3.1"],
  ["4.10.0", "4.3.1"],
])("console clients for Kafka %s are those of %s", (version, expected) => {
  const pom = "<kafka.tools.version>4.3.1</kafka.tools.version>";
  expect(clientsVersion(pom, version)).toBe(expected);
});
