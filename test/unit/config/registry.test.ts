// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the configuration's own syntax.

import { expect, test } from "vitest";
import { pathText } from "../../../src/base/settings/problem.ts";
import { config, printed, problems, SMALL, warnings } from "../../support/build/config-source.ts";

function registry(inside: string, env = {}) {
  return config(`${SMALL}registry: ${inside}\n`, env).registry;
}

test("omitted: none", () => {
  expect(config(SMALL).registry).toBeNull();
});

test.each([
  ['{ url: "http://r:8081" }', ["http://r:8081"]],
  ['{ url: "https://r/apis/ccompat/v7" }', ["https://r/apis/ccompat/v7"]],
  ['{ url: "http://a:1, http://b:2/x" }', ["http://a:1", "http://b:2/x"]],
  ['{ url: ["http://a:1", "http://b:2"] }', ["http://a:1", "http://b:2"]],
])("%s", (inside, urls) => {
  expect(registry(inside)).toEqual({ urls, authentication: null, tls: null });
});

const OAUTH = "{ tokenUrl: https://id/token, clientId: c, clientSecret: s }";

test.each([
  ["username: u, password: p", { kind: "basic", username: "u", password: "p" }],
  ["token: t", { kind: "token", token: "t" }],
  [
    `oauth: ${OAUTH}`,
    { kind: "oauth", tokenUrl: "https://id/token", clientId: "c", clientSecret: "s", scope: null },
  ],
])("a login: %s", (inside, authentication) => {
  expect(registry(`{ url: "https://r", ${inside} }`)?.authentication).toEqual(authentication);
});

test("from the environment, over the file", () => {
  const env = {
    SWITCHYARD_REGISTRY_URL: "http://a:1,http://b:2",
    SWITCHYARD_REGISTRY_USERNAME: "u",
    SWITCHYARD_REGISTRY_PASSWORD: "p",
  };
  const authentication = { kind: "basic", username: "u", password: "p" };
  const urls = ["http://a:1", "http://b:2"];
  expect(registry('{ url: "http://c" }', env)).toEqual({ urls, authentication, tls: null });
  expect(config(SMALL, env).registry).toEqual({ urls, authentication, tls: null });
});

test.each([
  ["{}", "registry.url", /URL/],
  ["{ url: [] }", "registry.url", /URL/],
  ['{ url: "r:8081" }', "registry.url[0]", /http/],
  ['{ url: "http://r:8081/?x=hunter2" }', "registry.url[0]", /\?/],
  ['{ url: "http://r:8081/#hunter2" }', "registry.url[0]", /#/],
  ['{ url: "http://u:hunter2@r:8081" }', "registry.url", /username/],
  ['{ url: "http://u:hunter2,x@r:8081" }', "registry.url", /username/],
  ['{ url: ["http://r", "http://u:hunter2@r"] }', "registry.url", /username/],
  ['{ url: "http://r", username: u }', "registry.password", /username is set/],
  ['{ url: "http://r", password: hunter2 }', "registry.username", /password is set/],
  ['{ url: "http://r", username: "a:b", password: p }', "registry.username", /user name/],
  ['{ url: "http://r", username: u, password: p, token: hunter2 }', "registry.token", /one way/],
  [`{ url: "http://r", token: hunter2, oauth: ${OAUTH} }`, "registry.oauth", /one way/],
  ['{ url: "http://r", oauth: { clientId: c } }', "registry.oauth.tokenUrl", /URL/],
  ['{ url: "http://r", tls: { cert: hunter2 } }', "registry.tls.cert", /PEM/],
])("rejected: %s", (inside, path, expected) => {
  const [problem] = problems(`${SMALL}registry: ${inside}\n`);
  expect(problem && pathText(problem.path)).toBe(path);
  expect(`${problem?.expected} ${problem?.hint}`).toMatch(expected);
  if (path !== "registry.tls.cert") expect(JSON.stringify(problem)).not.toContain("hunter2");
});

test("secrets are hidden, and so are paths of URLs", () => {
  const inside =
    '{ url: "http://a/hunter2,http://b:2", username: u, password: "${P}", oauth: null }';
  const text = printed(`${SMALL}registry: ${inside}\n`, { P: "hunter2" });
  expect(text).toMatch(/url: http:\/\/a\/\(hidden\),http:\/\/b:2/);
  expect(text).not.toContain("hunter2");
});

test("a login over http is warned of", () => {
  const given = (url: string) => `${SMALL}registry: { url: "${url}", token: t }\n`;
  expect(warnings(given("https://a, http://b")).join()).toMatch(/registry\.url.*plain text/);
  expect(warnings(given("https://a"))).toEqual([]);
});
