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

const TENANT = "https://login.example.com/3f2b1c4d-0000-4444-8888-1234567890ab/oauth2/v2.0/token";
const WRITTEN = {
  console: { token: "console-token-x" },
  sources: [
    { id: "web", writeKey: "wk-1" },
    { id: "app", writeKey: "${WRITE_KEY}" },
  ],
  destinations: [
    {
      id: "crm",
      type: "webhook",
      sharedSecret: "written",
      endpoints: [
        {
          url: "https://crm.example.com/hooks/T024BE7LH/abcdefghijklmnop",
          headers: { Authorization: "Bearer static-token", "X-Api-Key": "${API_KEY}" },
        },
        { url: "https://crm.example.com/hook?key=abc" },
        { url: "https://crm.example.com/v1/hook" },
      ],
      auth: { type: "oauth2", tokenUrl: TENANT, clientId: "c", clientSecret: "written" },
      proxy: "http://me:${PASSWORD}@proxy.example.com:3128",
    },
  ],
  delivery: { proxy: "http://me:written@proxy.example.com:3128/" },
};
const MORE = {
  destinations: [
    {
      id: "more",
      type: "webhook",
      sharedSecret: "written",
      endpoints: [{ url: "https://more.example.com/" }],
    },
  ],
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

  test("names each secret that is written in the ConfigMap", async () => {
    const extraEnv = ["WRITE_KEY", "API_KEY", "PASSWORD"].map((name) => ({ name, value: "x" }));
    const configFiles = { "more.yaml": MORE };
    const text = await notes(major, {}, { config: WRITTEN, configFiles, extraEnv });
    const named = text.matchAll(/- (.*) is in the ConfigMap\./g);
    expect([...named].map(([, name]) => name)).toEqual([
      "sources.web.writeKey",
      "destinations.crm.sharedSecret",
      "destinations.more.sharedSecret",
      "destinations.crm.endpoints.0.url",
      "destinations.crm.endpoints.1.url",
      "destinations.crm.endpoints.0.headers.Authorization",
      "destinations.crm.auth.clientSecret",
      "delivery.proxy",
      "console.token",
    ]);
    expect(text).not.toContain("static-token");
  });

  test("names ten secrets, and the number of the others", async () => {
    const sources = Array.from({ length: 13 }, (_, n) => ({ id: `s${n}`, writeKeys: [`k${n}`] }));
    const text = await notes(major, {}, { config: { sources } });
    expect(text).toContain("- sources.s9.writeKeys.0 is in the ConfigMap.");
    expect(text).not.toContain("sources.s10.");
    expect(text).toContain("- 3 more secrets are in the ConfigMap.");
  });

  test("names a key that a Secret lacks", async () => {
    const text = await notes(major, { switchyard: ["web"], "kafka-user": [] }, VALUES);
    expect(text).toContain("- The Secret switchyard has no key crm, to which config refers.");
    expect(text).not.toContain("does not exist in ns");
  });
});

test("says the next three commands, and no more when all is well", async () => {
  const sources = [{ id: "web", writeKey: "${WRITE_KEY}", destinations: ["crm"] }];
  const written = { config: { sources }, extraEnv: [{ name: "WRITE_KEY", value: "k" }] };
  expect(await notes(4, {}, written)).toBe(`NOTES:
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
