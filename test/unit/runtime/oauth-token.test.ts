import { beforeEach, expect, test } from "vitest";

import { TokenError, tokenSource } from "../../../src/runtime/oauth-token.ts";

const CREDENTIALS = {
  tokenUrl: "https://id.example/token",
  clientId: "switchyard",
  clientSecret: "s3cr:t",
  scope: "kafka",
} as const;

let nowMs = 0;
let requests: { readonly url: string; readonly init: RequestInit | undefined }[] = [];
let answers: (() => Response | Promise<Response>)[] = [];
const clock = { nowMs: () => nowMs, sleep: () => Promise.resolve() };

beforeEach(() => {
  nowMs = 0;
  requests = [];
  answers = [];
});

async function answer(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  requests.push({ url: `${url}`, init });
  const next = answers.shift();
  if (next === undefined) throw new Error("no answer is left");
  return await next();
}

function token(text: string, expiresIn?: number): () => Response {
  return () => Response.json({ access_token: text, expires_in: expiresIn });
}

test("asks by client credentials, with the secret in the header", async () => {
  answers = [token("t1", 100)];
  expect(await tokenSource(CREDENTIALS, clock, answer)()).toBe("t1");
  const [request] = requests;
  expect(request?.url).toBe(CREDENTIALS.tokenUrl);
  expect(request?.init?.method).toBe("POST");
  expect(`${request?.init?.body}`).toBe("grant_type=client_credentials&scope=kafka");
  const authorization = new Headers(request?.init?.headers).get("authorization") ?? "";
  const basic = Buffer.from(authorization.slice("Basic ".length), "base64").toString();
  expect(basic).toBe("switchyard:s3cr%3At");
});

test("connections share a request and a token, which is renewed after four fifths of its life", async () => {
  answers = [token("t1", 100), token("t2")];
  const source = tokenSource({ ...CREDENTIALS, scope: null }, clock, answer);
  expect(await Promise.all([source(), source(), source()])).toEqual(["t1", "t1", "t1"]);
  nowMs = 79_999;
  expect(await source()).toBe("t1");
  nowMs = 80_000;
  expect(await source()).toBe("t2");
  expect(requests).toHaveLength(2);
});

test("a token that was fetched by a clock which was set back since then is fetched again", async () => {
  answers = [token("t1", 100), token("t2", 100)];
  const source = tokenSource(CREDENTIALS, clock, answer);
  nowMs = 3_600_000;
  expect(await source()).toBe("t1");
  nowMs = 0;
  expect(await source()).toBe("t2");
  expect(await source()).toBe("t2");
});

test.each([
  ["a refusal", () => Response.json({ error: "invalid_client" }, { status: 401 }), /status 401/],
  ["no token", () => Response.json({}), /without access_token/],
  ["no JSON", () => new Response("<html>"), /without access_token/],
  ["no answer", () => Promise.reject(new Error("ECONNREFUSED")), /ECONNREFUSED/],
])(
  "%s is an outage, without the secret in its text; the next call asks again",
  async (_name, bad, text) => {
    answers = [bad, token("t1")];
    const source = tokenSource(CREDENTIALS, clock, answer);
    const failed = source();
    await expect(failed).rejects.toBeInstanceOf(TokenError);
    await expect(failed).rejects.toThrow(text);
    await expect(failed).rejects.not.toThrow("s3cr");
    expect(await source()).toBe("t1");
  },
);
