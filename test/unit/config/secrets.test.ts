// Secrets in the wrong setting: no problem and no printed configuration contains them.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the configuration's own syntax.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Problem, problemText } from "../../../src/base/settings/problem.ts";
import { secretSettings } from "../../../src/base/settings/secret-settings.ts";
import { SETTINGS } from "../../../src/config/settings.ts";
import { printed, problems, SMALL, warnings } from "../../support/build/config-source.ts";

const KEY = readFileSync(join(import.meta.dirname, "../../golden/tls/key.pem"), "utf8");
const ONE_LINE = KEY.replaceAll("\n", " ");
const BASE64 = KEY.replace(/-----.*-----|\n/g, "");

function said(found: readonly Problem[]): string {
  return found.map((problem) => problemText({ ...problem, line: null, file: null })).join("\n");
}

/** Expects that the text contains no eight consecutive characters of the secret. */
function expectNothingOf(secret: string, text: string): void {
  for (let from = 0; from + 8 <= secret.length; from += 1) {
    expect(text).not.toContain(secret.slice(from, from + 8));
  }
}

test.each([
  ["kafka.tls.key", { SWITCHYARD_KAFKA_TLS_KEY: KEY }, "in SWITCHYARD_KAFKA_TLS_KEY"],
  ["kafka.tls.ca in one line", { SWITCHYARD_KAFKA_TLS_CA: ONE_LINE }, "the path of a PEM file"],
  ["the base64 alone", { SWITCHYARD_KAFKA_TLS_KEY: BASE64 }, "the path of a PEM file"],
  ["delivery.ca", { SWITCHYARD_DELIVERY_CA: KEY }, "set the path of that file"],
])("a PEM text in place of a path is not shown: %s", (_name, env, hint) => {
  const text = said(problems(SMALL, env));
  expect(text).toContain("hidden");
  expect(text).toContain(hint);
  expectNothingOf(BASE64, text);
});

test("a PEM text in the file is not shown either", () => {
  const text = said(problems(`${SMALL}\ndelivery: { ca: ${JSON.stringify(KEY)} }`));
  expect(text).toContain("found:    (hidden)");
  expectNothingOf(BASE64, text);
});

test.each([
  '"u:hunter2@kafka:9092"',
  '["u:hunter2@kafka:9092"]',
  '"SASL_SSL://u:hunter2@kafka:9092"',
  '"u:x,hunter2,y@kafka:9092"',
  "[u:x,hunter2,y@kafka:9092]",
  '["u:hunter2:kafka:9092"]',
  '["kafka:9092;password=hunter2"]',
  '["kafka?password=hunter2:9092"]',
])("a password in kafka.brokers is not shown: %s", (brokers) => {
  const text = said(problems(`kafka: { brokers: ${brokers} }`));
  expect(text).toContain("kafka.brokers");
  expect(text).not.toContain("hunter2");
});

test.each(["url", "brokers"])("an address that is only wrong is shown: %s", (setting) => {
  const source =
    setting === "brokers"
      ? SMALL.replace("kafka-1:9092", "kafka-1:70000")
      : SMALL.replace("https", "ftp");
  expect(said(problems(source))).toContain(
    setting === "brokers" ? "kafka-1:70000" : "ftp://a.example.com/",
  );
});

test("the same URL twice is reported without its path", () => {
  const twice = `[{ url: "https://a.example.com/hunter2" }, { url: "https://a.example.com/hunter2" }]`;
  const text = said(problems(SMALL.replace(/\[\{ url.*\}\]/, twice)));
  expect(text).toContain('"https://a.example.com/(hidden)", as in');
  expect(text).not.toContain("hunter2");
});

test.each([
  ["https://a.example.com", "https://a.example.com"],
  ["https://a.example.com:8443/", "https://a.example.com:8443/"],
  ["https://a.example.com/hunter2", "https://a.example.com/(hidden)"],
  ["https://a.example.com/?hunter2", "https://a.example.com/(hidden)"],
  ["https://a.example.com?hunter2", "https://a.example.com?(hidden)"],
  ["https://a.example.com/x/@hunter2", "https://(hidden)"],
])("config print shows %s as %s", (url, shown) => {
  expect(printed(SMALL.replace("https://a.example.com/", url))).toContain(`url: ${shown}\n`);
});

test.each([
  ["http://me:hunter2@proxy.example.com:3128", "http://(hidden)@proxy.example.com:3128"],
  ["http://me:${PASSWORD}@proxy.example.com:3128/", "http://(hidden)@proxy.example.com:3128/"],
  ["${PROXY}", "${PROXY}"],
])("config print shows the proxy %s as %s", (proxy, shown) => {
  const env = { PASSWORD: "hunter2", PROXY: "https://me:hunter2@[2001:db8::1]:443" };
  const text = printed(`${SMALL}\ndelivery: { proxy: "${proxy}" }`, env);
  expect(text).toContain(`proxy: ${shown}\n`);
});

test.each([
  ["none", "none"],
  ["http://me:hunter2@proxy.example.com:3128", "http://(hidden)@proxy.example.com:3128"],
])("config print shows a destination's proxy %s as %s", (proxy, shown) => {
  const text = printed(SMALL.replace("type: webhook,", `type: webhook, proxy: "${proxy}",`));
  expect(text).toContain(`proxy: ${shown}\n`);
});

test.each([
  ["fifteen-letters", 1],
  ["whsec_c2hvcnQ=", 1],
  ["sixteen-letters!", 0],
  ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 0],
])("the secret %s gives %i warnings, which do not quote it", (secret, count) => {
  const yaml = SMALL.replace("type: webhook,", `type: webhook, sharedSecret: "${secret}",`);
  const given = warnings(yaml);
  expect(given.filter((warning) => warning.includes("sharedSecret"))).toHaveLength(count);
  expect(given.join()).not.toContain(secret);
});

test("the list of secret settings follows from what is hidden", () => {
  const written = secretSettings(SETTINGS).map(
    ({ path, isUrl }) => path.join(".") + (isUrl ? " url" : ""),
  );
  expect(written).toEqual([
    "kafka.sasl.password",
    "kafka.sasl.tokenUrl url",
    "kafka.sasl.clientSecret",
    "registry.url url",
    "registry.password",
    "registry.token",
    "registry.oauth.tokenUrl url",
    "registry.oauth.clientSecret",
    "sources.*.writeKey",
    "sources.*.writeKeys.*",
    "destinations.*.map.*.secret",
    "destinations.*.sharedSecret",
    "destinations.*.previousSharedSecret",
    "destinations.*.signingKey",
    "destinations.*.previousSigningKey",
    "destinations.*.endpoints.*.url url",
    "destinations.*.endpoints.*.headers.*",
    "destinations.*.auth.tokenUrl url",
    "destinations.*.auth.clientSecret",
    "destinations.*.auth.parameters.*",
    "destinations.*.auth.password",
    "destinations.*.auth.token",
    "destinations.*.proxy url",
    "delivery.proxy url",
    "console.token",
    "operatorEvents.webhook.url url",
    "operatorEvents.webhook.headers.*",
    "operatorEvents.webhook.sharedSecret",
    "operatorEvents.webhook.previousSharedSecret",
    "tracing.url url",
    "tracing.headers.*",
  ]);
});
