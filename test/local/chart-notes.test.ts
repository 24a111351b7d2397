// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the configuration's own syntax.
// The notes that Helm prints after an installation: the next commands, and likely mistakes. Secrets are looked up in a
// stand-in for the Kubernetes API.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";

import { apiServer, type Secrets } from "../support/chart/api-server.ts";
import {
  CHART,
  HELM_MAJORS,
  type HelmMajor,
  helm,
  NO_HELM,
  valuesFile,
} from "../support/chart/helm.ts";

beforeEach((context) => {
  if (NO_HELM !== null) context.skip(NO_HELM);
});

const folder = mkdtempSync(join(tmpdir(), "switchyard-notes-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function notes(major: HelmMajor, secrets: Secrets, values: object): Promise<string> {
  await using server = await apiServer(secrets, join(folder, "kubeconfig"));
  const file = join(folder, "values.json");
  writeFileSync(file, JSON.stringify(values));
  const options = [
    "--namespace",
    "ns",
    "--kubeconfig",
    server.kubeconfig,
    "--values",
    valuesFile("defaults"),
  ];
  const dry = ["--dry-run=server", "--disable-openapi-validation", "--values", file];
  const ran = await helm(major, "install", "rel", CHART, ...options, ...dry);
  if (ran.status !== 0) throw new Error(ran.err);
  return ran.out.slice(ran.out.indexOf("NOTES:"));
}

const VALUES = {
  existingSecret: "switchyard",
  secretMounts: [{ secretName: "kafka-user", mountPath: "/run/secrets/kafka" }],
  config: {
    kafka: { tls: true, sasl: { mechanism: "plain", username: "u", password: "written" } },
    destinations: [
      {
        id: "crm",
        type: "webhook",
        sharedSecret: "${file:/run/secrets/switchyard/crm}",
        endpoints: [{ url: "https://crm.example.com/" }],
      },
    ],
  },
};

describe.each(HELM_MAJORS)("Helm %i", (major) => {
  test("names a Secret that is not there, and one in the ConfigMap", async () => {
    const text = await notes(major, { other: [] }, VALUES);
    expect(text).toContain(
      "- The Secret switchyard does not exist in ns. Pods cannot start without it.",
    );
    expect(text).toContain("- The Secret kafka-user does not exist in ns.");
    expect(text).toContain("- kafka.sasl.password is in the ConfigMap.");
  });

  test("names a key that a Secret lacks", async () => {
    const text = await notes(major, { switchyard: ["web"], "kafka-user": [] }, VALUES);
    expect(text).toContain("- The Secret switchyard has no key crm, to which config refers.");
    expect(text).not.toContain("does not exist in ns");
  });
});

test("says the next three commands, and no more when all is well", async () => {
  expect(await notes(4, {}, {})).toBe(`NOTES:
Switchyard 0.1.0 runs as rel in ns.

Next:

  kubectl -n ns rollout status deployment/rel-switchyard
  helm -n ns test rel
  kubectl -n ns exec deployment/rel-switchyard -- switchyard status --admin localhost:9464
`);
});

test("asks for no Secret where it may not", async () => {
  const text = await notes(4, {}, { ...VALUES, checkSecrets: false });
  expect(text).not.toContain("does not exist in ns");
});
