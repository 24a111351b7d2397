/** The table of tested releases of Kafka, in `docs/operations.md`. */

import { KAFKA_VERSION_DEFAULT } from "../kafka/settings.ts";
import { LINES, TESTS, testedVersions } from "../kafka/tested-versions.ts";
import { withMarkedTable } from "./marked-table.ts";

export function withKafkaVersions(page: string): string {
  const tested = testedVersions();
  const some = TESTS.map((name) => `\`${name}\``).join(", ");
  const rows = LINES.map((line) => [tested[line], some]);
  const all = [[KAFKA_VERSION_DEFAULT, "all, on one broker and on three"], ...rows];
  const ascending = all.sort(([one = ""], [other = ""]) =>
    one.localeCompare(other, "en", { numeric: true }),
  );
  return withMarkedTable(page, "Kafka versions", ["Kafka", "Integration tests"], ascending);
}
