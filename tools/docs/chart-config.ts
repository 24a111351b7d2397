/** The part of the chart's `values.schema.json` about the configuration: Helm rejects a wrong value at install time. */

import { configurationSchema } from "../../src/config/json-schema.ts";
import { readPage } from "./page.ts";

const SCHEMA = "deploy/helm/switchyard/values.schema.json";

/** The file as it is, with a new definition `config`. */
export function renderChartSchema(): string {
  const schema = JSON.parse(readPage(SCHEMA));
  schema.definitions.config = configurationSchema();
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}
