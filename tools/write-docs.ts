/** `npm run docs`: writes the pages that are generated from code. A test checks that they are current. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { configurationSchemaText } from "../src/config/json-schema.ts";
import { renderDashboard } from "./dashboard/render.ts";
import { renderChartSchema, renderChartSecrets } from "./docs/chart-config.ts";
import { renderChartReadme } from "./docs/chart-values.ts";
import { renderCommands } from "./docs/commands.ts";
import { renderConfiguration } from "./docs/configuration.ts";
import { renderLogs } from "./docs/logs.ts";
import { renderMetrics } from "./docs/metrics.ts";
import { readPage } from "./docs/page.ts";
import { renderConnect } from "./docs/rights.ts";
import { renderSchemas } from "./docs/schemas.ts";
import { renderSizing } from "./docs/sizing.ts";
import { renderTopics } from "./docs/topics.ts";

export interface Page {
  /** Path from the project's folder. */
  readonly path: string;
  readonly render: () => string;
}

/** This loads all commands. Otherwise, a command is loaded only when it is called. */
const commands = await renderCommands();

export const PAGES: readonly Page[] = [
  { path: "docs/commands.md", render: () => commands },
  { path: "docs/configuration.md", render: renderConfiguration },
  { path: "docs/logs.md", render: renderLogs },
  { path: "docs/metrics.md", render: renderMetrics },
  { path: "docs/topics.md", render: renderTopics },
  { path: "docs/connect.md", render: renderConnect },
  { path: "docs/sizing.md", render: renderSizing },
  {
    // A copy for users who do not use Helm.
    path: "deploy/prometheus/rules.yaml",
    render: () => readPage("deploy/helm/switchyard/files/rules.yaml"),
  },
  { path: "deploy/helm/switchyard/files/dashboard.json", render: renderDashboard },
  { path: "deploy/grafana/dashboard.json", render: renderDashboard },
  { path: "deploy/helm/switchyard/README.md", render: renderChartReadme },
  { path: "schemas/switchyard.schema.json", render: configurationSchemaText },
  // Reads the schema that the entry before writes.
  { path: "docs/schemas.md", render: renderSchemas },
  { path: "deploy/helm/switchyard/values.schema.json", render: renderChartSchema },
  { path: "deploy/helm/switchyard/files/secrets.json", render: renderChartSecrets },
];

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  for (const { path, render } of PAGES) {
    writeFileSync(join(import.meta.dirname, "..", path), render());
  }
}
