// Newlines and other whitespace around values from the environment.

import { expect, test } from "vitest";

import { config, parse, SMALL } from "../../support/build/config-source.ts";

const NAMED = `
kafka: { brokers: [kafka-1:9092], tls: {}, sasl: { mechanism: plain, username: u, password: "\${PASSWORD}" } }
registry: { url: "https://registry:8081", username: u, password: "\${PASSWORD}" }
sources: [{ id: web, writeKey: "\${WRITE_KEY}", destinations: [hook] }]
destinations:
  - { id: hook, type: webhook, sharedSecret: "\${SECRET}", endpoints: [{ url: "https://a.example.com/", headers: { Authorization: "Bearer \${TOKEN}" } }] }
`;

const SECRET = "0123456789abcdef-of-32-random-ones";

test.each(["\n", "\r\n"])("one newline at the end of each variable is omitted: %j", (end) => {
  const env = { PASSWORD: `p${end}`, WRITE_KEY: `k${end}`, SECRET: SECRET + end, TOKEN: `t${end}` };
  const read = config(NAMED, env);
  expect(read).toMatchObject({
    kafka: { sasl: { password: "p" } },
    registry: { authentication: { password: "p" } },
    sources: [{ writeKeys: ["k"] }],
    destinations: [
      { sharedSecret: SECRET, endpoints: [{ headers: [["Authorization", "Bearer t"]] }] },
    ],
  });
  expect(parse(NAMED, env)).toMatchObject({ kind: "config", warnings: [] });
});

test("a setting's own variable loses one newline, and counts as not set when nothing is left", () => {
  const env = {
    SWITCHYARD_KAFKA_TOPIC_PREFIX: "mine.\n",
    SWITCHYARD_INGEST_PORT: "81\r\n",
    SWITCHYARD_ADMIN_PORT: "\n",
  };
  expect(config(SMALL, env)).toMatchObject({
    kafka: { topicPrefix: "mine." },
    ingest: { port: 81 },
    admin: { port: 9464 },
  });
});

test("a default takes the place of a variable that is a newline alone", () => {
  const yaml = SMALL.replace("writeKey: k1", `writeKey: "\${KEY:-other}"`);
  expect(config(yaml, { KEY: "\n" })).toMatchObject({ sources: [{ writeKeys: ["other"] }] });
});

test.each([" ", "\t", "\n\n", " \n", "\n \n", "\r", "\u00a0", "\ufeff", "\u200b", "\u0000"])(
  "more whitespace around a secret is kept, and each setting is named: %j",
  (space) => {
    const env = { PASSWORD: `p${space}`, WRITE_KEY: `k${space}`, SECRET: ` ${SECRET}`, TOKEN: "t" };
    const read = parse(NAMED, env);
    expect(read).toMatchObject({ kind: "config" });
    const warnings = read.kind === "config" ? read.warnings : [];
    for (const path of [
      "kafka.sasl.password",
      "registry.password",
      "sources[0].writeKey",
      "destinations[0].sharedSecret",
    ])
      expect(warnings.filter((text) => text.startsWith(`${path}: the secret`))).toHaveLength(1);
    expect(warnings).toHaveLength(4);
    expect(warnings.join()).not.toContain(SECRET);
  },
);
