/**
 * Generates the part of the chart's `values.schema.json` about the configuration, so that Helm rejects an invalid value
 * at install time, and the list of secret settings, so that Helm warns if one of them becomes part of a ConfigMap.
 */

import { secretSettings } from "../../src/base/settings/secret-settings.ts";
import { configurationSchema } from "../../src/config/json-schema.ts";
import { SETTINGS } from "../../src/config/settings.ts";
import { readPage } from "./page.ts";

const SCHEMA = "deploy/helm/switchyard/values.schema.json";

/** Returns the file with a new definition `config`. */
export function renderChartSchema(): string {
  const schema = JSON.parse(readPage(SCHEMA));
  schema.definitions.config = configurationSchema();
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

export function renderChartSecrets(): string {
  return `${JSON.stringify(secretSettings(SETTINGS), undefined, 2)}\n`;
}
