/** What a query reads from. */

import type { Config } from "../../../config/config.ts";
import type { Kafka } from "../../../kafka/port.ts";
import type { openCommandSchemas } from "../../connect/command-schemas.ts";

export interface QuerySource {
  readonly kafka: Kafka;
  readonly config: Config;
  /** Opens the schemas of values. They are closed after reading. */
  readonly openSchemas: typeof openCommandSchemas;
  readonly signal: AbortSignal;
}
