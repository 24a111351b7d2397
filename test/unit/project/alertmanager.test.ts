// deploy/prometheus/alertmanager.yaml: it names alerts that exist, and one cause is one message.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";

import { ROOT } from "../../support/project/tracked-texts.ts";

type Labels = Readonly<Record<string, string>>;

interface Inhibition {
  readonly source_matchers: readonly string[];
  readonly target_matchers: readonly string[];
  readonly equal: readonly string[];
}

interface Route {
  readonly receiver: string;
  readonly matchers?: readonly string[];
  readonly routes?: readonly Route[];
}

const read = (path: string): unknown => parse(readFileSync(join(ROOT, path), "utf8"));
const config = read("deploy/prometheus/alertmanager.yaml") as {
  readonly route: Route & { readonly group_by: readonly string[] };
  readonly inhibit_rules: readonly Inhibition[];
  readonly receivers: readonly { readonly name: string }[];
};
const { groups } = read("deploy/prometheus/rules.yaml") as {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert?: string;
      readonly expr: string;
      readonly labels?: Labels;
    }[];
  }[];
};
const rules = groups.flatMap((group) => group.rules);
const MATCHER = /^(\w+)(=~|!=|=)"([^"]*)"$/;

/** As Alertmanager reads it: a regular expression has to match the whole value. */
function matches(matcher: string, labels: Labels): boolean {
  const [, label = "", operator, value = ""] = MATCHER.exec(matcher) ?? [];
  if (operator === undefined) throw new Error(`no matcher: ${matcher}`);
  const is = labels[label] ?? "";
  if (operator === "=~") return new RegExp(`^(?:${value})$`).test(is);
  return (is === value) === (operator === "=");
}

function reported(firing: readonly Labels[]): readonly string[] {
  const isKeptBack = (target: Labels) =>
    config.inhibit_rules.some(
      ({ source_matchers: sources, target_matchers: targets, equal }) =>
        targets.every((matcher) => matches(matcher, target)) &&
        firing.some(
          (source) =>
            source !== target &&
            sources.every((matcher) => matches(matcher, source)) &&
            equal.every((label) => (source[label] ?? "") === (target[label] ?? "")),
        ),
    );
  return firing.filter((each) => !isKeptBack(each)).map(({ alertname = "" }) => alertname);
}

const common = { namespace: "data", job: "switchyard" };
const of = (alertname: string, labels: Labels = {}): Labels => ({
  ...common,
  ...labels,
  alertname: `Switchyard${alertname}`,
});
const CRM = { destination: "crm" };
const ofDestination = [
  "DestinationFailing",
  "DestinationOnHold",
  "DeliveriesExpiringSoon",
  "DeliveriesExpired",
];

function namesIn(matchers: readonly string[]): readonly string[] {
  return matchers
    .filter((matcher) => matcher.startsWith("alertname") && !matcher.includes("*"))
    .flatMap((matcher) => (MATCHER.exec(matcher)?.[3] ?? "").split("|"));
}

test("each alert that it names exists, and each receiver", () => {
  const alerts = new Set(rules.flatMap(({ alert }) => alert ?? []));
  const { routes = [] } = config.route;
  const named = [
    ...config.inhibit_rules.flatMap((rule) => [...rule.source_matchers, ...rule.target_matchers]),
    ...routes.flatMap(({ matchers = [] }) => matchers),
  ];
  expect(named.length).toBeGreaterThan(10);
  for (const matcher of named) expect(matcher).toMatch(MATCHER);
  expect(namesIn(named).filter((name) => !alerts.has(name))).toEqual([]);
  const receivers = config.receivers.map(({ name }) => name);
  expect(receivers).toEqual(
    expect.arrayContaining([config.route, ...routes].map((route) => route.receiver)),
  );
});

test("alerts have the labels by which they are kept back", () => {
  for (const {
    target_matchers: targets,
    source_matchers: sources,
    equal,
  } of config.inhibit_rules) {
    for (const name of namesIn([...targets, ...sources])) {
      const expr = rules.find(({ alert }) => alert === name)?.expr ?? "";
      // Ingest's shares are recorded by namespace and job.
      if (expr.startsWith("switchyard:")) continue;
      for (const label of equal)
        expect(expr, `${name} ${label}`).toMatch(new RegExp(`\\b${label}\\b`));
    }
  }
});

test("one dead receiver is one message, in all its stages", () => {
  for (let count = 1; count <= ofDestination.length; count += 1) {
    const firing = ofDestination.slice(0, count).map((name) => of(name, CRM));
    expect(reported(firing)).toEqual(["SwitchyardDestinationFailing"]);
  }
});

test("two dead receivers are two messages, and another job's are its own", () => {
  const firing = [
    ...ofDestination.map((name) => of(name, CRM)),
    ...ofDestination.map((name) => of(name, { destination: "mail" })),
    of("DestinationOnHold", { ...CRM, job: "other" }),
  ];
  expect(reported(firing)).toEqual([
    ...[
      "SwitchyardDestinationFailing",
      "SwitchyardDestinationFailing",
      "SwitchyardDestinationOnHold",
    ],
  ]);
});

test("most receivers at once are one page", () => {
  const firing = [
    of("DestinationsFailing", { severity: "critical" }),
    ...["a", "b", "c"].flatMap((destination) =>
      ofDestination.map((name) => of(name, { destination })),
    ),
  ];
  expect(reported(firing)).toEqual(["SwitchyardDestinationsFailing"]);
});

test("what expired is reported once its receiver accepts again", () => {
  expect(reported([of("DeliveriesExpired", CRM)])).toEqual(["SwitchyardDeliveriesExpired"]);
});

test("Kafka unreachable is one page for each process, and loss is always reported", () => {
  const instance = { instance: "a:9464", severity: "critical" };
  const firing = [
    of("KafkaUnreachable", instance),
    of("ConsumerStalled", { ...instance, stage: "route" }),
    of("LagUnknown", { ...instance, stage: "route" }),
    of("IngestErrorBudgetBurnFast"),
    of("RecordsLost", { stage: "route" }),
  ];
  expect(reported(firing)).toEqual(["SwitchyardKafkaUnreachable", "SwitchyardRecordsLost"]);
});
