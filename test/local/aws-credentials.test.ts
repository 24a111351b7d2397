// The sources of AWS credentials, with stand-ins for the endpoints of AWS; and the bounds of every request for credentials
// or for a token.

import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { type AwsEnvironment, awsCredentials } from "../../src/base/runtime/aws-credentials.ts";
import { type ClientCredentials, tokenSource } from "../../src/base/runtime/oauth-token.ts";
import { requestCredentials } from "../../src/base/runtime/request-credentials.ts";
import { issue } from "../support/build/certificates.ts";
import { ManualClock } from "../support/clock/manual-clock.ts";
import { respondingServer } from "../support/servers/token-server.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-aws-"));
const tokenFile = join(folder, "token");
writeFileSync(tokenFile, "hunter2-web-identity\n");

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}
let asked: Asked[] = [];
let responses: Record<string, unknown> = {};
const server = createServer((request, response) => {
  const { method = "", url: path = "", headers } = request;
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    asked.push({ method, path, headers, body: Buffer.concat(chunks).toString() });
    const given = responses[`${method} ${path}`];
    if (given === undefined) response.writeHead(404);
    response.end(typeof given === "string" ? given : JSON.stringify(given));
  });
});
let origin = "";

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const clock = new ManualClock(Date.parse("2026-03-01T09:30:15Z"));
const KEYS = { AccessKeyId: "id", SecretAccessKey: "hunter2-secret" };
const EXPECTED = {
  accessKeyId: "id",
  secretAccessKey: "hunter2-secret",
  sessionToken: "hunter2-session",
  expiresAtMs: Date.parse("2026-03-01T10:30:15Z"),
};

function find(env: AwsEnvironment) {
  asked = [];
  return awsCredentials("eu-central-1", env, clock);
}

test("of the environment, before anything else", async () => {
  const env = { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b", AWS_ROLE_ARN: "r" };
  const none = { sessionToken: null, expiresAtMs: null };
  expect(await find(env)()).toEqual({ accessKeyId: "a", secretAccessKey: "b", ...none });
  const session = await find({ ...env, AWS_SESSION_TOKEN: "c" })();
  expect(session.sessionToken).toBe("c");
  expect(asked).toEqual([]);
});

test("of a service account's role, by STS", async () => {
  const Credentials = {
    ...{ ...KEYS, SessionToken: "hunter2-session" },
    Expiration: EXPECTED.expiresAtMs / 1_000,
  };
  responses = {
    "POST /sts": {
      AssumeRoleWithWebIdentityResponse: { AssumeRoleWithWebIdentityResult: { Credentials } },
    },
  };
  const env = {
    AWS_ROLE_ARN: "arn:aws:iam::1:role/switchyard",
    AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
    AWS_ENDPOINT_URL_STS: `${origin}/sts`,
  };
  expect(await find(env)()).toEqual(EXPECTED);
  expect(asked[0]?.headers.accept).toBe("application/json");
  expect(Object.fromEntries(new URLSearchParams(asked[0]?.body))).toEqual({
    Action: "AssumeRoleWithWebIdentity",
    Version: "2011-06-15",
    RoleArn: "arn:aws:iam::1:role/switchyard",
    RoleSessionName: "switchyard",
    WebIdentityToken: "hunter2-web-identity",
  });
});

const ISO = { ...KEYS, Token: "hunter2-session", Expiration: "2026-03-01T10:30:15Z" };

test("of the container, with the token of its file", async () => {
  responses = { "GET /v1/credentials": ISO };
  const env = {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${origin}/v1/credentials`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile,
  };
  expect(await find(env)()).toEqual(EXPECTED);
  expect(asked[0]?.headers.authorization).toBe("hunter2-web-identity");
});

test("of the instance, by a session of its metadata; fetched again before they end", async () => {
  const roles = "/latest/meta-data/iam/security-credentials/";
  responses = {
    "PUT /latest/api/token": "session",
    [`GET ${roles}`]: "my-role\n",
    [`GET ${roles}my-role`]: ISO,
  };
  const source = find({ AWS_EC2_METADATA_SERVICE_ENDPOINT: origin });
  expect(await Promise.all([source(), source()])).toEqual([EXPECTED, EXPECTED]);
  expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual(Object.keys(responses));
  expect(asked[1]?.headers["x-aws-ec2-metadata-token"]).toBe("session");
  await clock.advance(54 * 60_000);
  await source();
  expect(asked).toHaveLength(3);
  await clock.advance(60_000);
  await source();
  expect(asked).toHaveLength(6);
});

test.each<[string, () => AwsEnvironment, RegExp]>([
  [
    "an endpoint that refuses",
    () => ({ AWS_CONTAINER_CREDENTIALS_FULL_URI: `${origin}/none` }),
    /status 404/,
  ],
  [
    "a response that is not JSON",
    () => ({ AWS_CONTAINER_CREDENTIALS_FULL_URI: `${origin}/html` }),
    /is not JSON/,
  ],
  [
    "a response without keys",
    () => ({ AWS_CONTAINER_CREDENTIALS_FULL_URI: `${origin}/empty` }),
    /contains none/,
  ],
  [
    "an address elsewhere",
    () => ({ AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://a.example.com/" }),
    /must use TLS/,
  ],
  ["no metadata", () => ({ AWS_EC2_METADATA_DISABLED: "true" }), /AWS_EC2_METADATA_DISABLED/],
  [
    "a token file that is gone",
    () => ({ AWS_ROLE_ARN: "r", AWS_WEB_IDENTITY_TOKEN_FILE: join(folder, "none") }),
    /none cannot be read/,
  ],
])("%s: an error that counts as an outage, and quotes no secret", async (_name, env, problem) => {
  responses = { "GET /html": "<html>hunter2", "GET /empty": { Code: "hunter2" } };
  const error = await find(env())().catch((cause: unknown) => cause);
  expect(error).toMatchObject({ name: "TokenError", retriable: true });
  expect(String(error)).toMatch(problem);
  expect(String(error)).not.toContain("hunter2");
});

const USERS: [string, (url: string) => Promise<unknown>][] = [
  [
    "a token",
    (url) => {
      const client = { clientId: "c", clientSecret: "hunter2", scope: null };
      return tokenSource({ ...client, tokenUrl: url } satisfies ClientCredentials, clock).token();
    },
  ],
  [
    "AWS credentials",
    (url) => {
      const role = { AWS_ROLE_ARN: "r", AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile };
      return find({ ...role, AWS_ENDPOINT_URL_STS: url })();
    },
  ],
];

test.each(USERS)(
  "%s: nothing is sent to a server with a self-signed certificate, whatever NODE_TLS_REJECT_UNAUTHORIZED is",
  async (_name, request) => {
    const { cert, key } = issue({ name: "localhost", hosts: ["localhost"] });
    await using taking = await respondingServer((response) => response.end("{}"), { cert, key });
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    try {
      await expect(request(taking.url)).rejects.toMatchObject({
        name: "TokenError",
        message: expect.stringContaining("self-signed certificate"),
        cause: { code: "DEPTH_ZERO_SELF_SIGNED_CERT" },
      });
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    }
    expect(taking.taken).toEqual([]);
  },
);

test.each(USERS)("%s: an endless response is not read whole", async (_name, request) => {
  let isClosed = Promise.resolve<unknown>(null);
  await using flooding = await respondingServer((response) => {
    isClosed = once(response, "close");
    const more = () => {
      while (!response.destroyed && response.write("x".repeat(65_536)));
    };
    response.on("drain", more);
    more();
  });
  await expect(request(flooding.url)).rejects.toThrow(/its response is longer than 64 KiB/);
  await isClosed;
});

test("a server that stays silent is an error that says so", async () => {
  await using silent = await respondingServer(() => undefined);
  const request = { url: silent.url, method: "GET", headers: {} } as const;
  await expect(requestCredentials(request)).rejects.toThrow("no complete response within 5 s");
});

test("a redirect is not followed, and Retry-After is returned", async () => {
  await using moved = await respondingServer((response) => {
    response.writeHead(302, { location: `${origin}/elsewhere`, "retry-after": "7" }).end("moved");
  });
  const request = { url: moved.url, method: "POST", headers: {}, body: "a=b" } as const;
  expect(await requestCredentials(request)).toEqual({
    status: 302,
    retryAfter: "7",
    body: "moved",
  });
  expect(moved.taken[0]?.body).toBe("a=b");
});
