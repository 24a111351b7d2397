/** A copy of the rules, which the chart needs in its own folder, where people without Helm look. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

const CHART_FILES = join(import.meta.dirname, "../../deploy/helm/switchyard/files");

export const renderRules = () => readFileSync(join(CHART_FILES, "rules.yaml"), "utf8");
