// After an endpoint has sent a status, no fault in the rest of its response causes a retry
// (docs/retries.md#malformed-responses). Tested over plaintext connections and TLS, in one piece and in many pieces.

import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { SendResult } from "../../src/router/destinations/port.ts";
import { issue } from "../support/build/certificates.ts";
import { endpointOf } from "../support/build/webhook-destination.ts";
import { httpClient, outcome } from "../support/servers/http-client.ts";
import { rawServer } from "../support/servers/raw-server.ts";

const HEAD = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;
const LENGTH = "Content-Length: 2\r\n";

/** Responses for which the parser reports an error. */
const TAKEN: readonly (readonly [name: string, response: string, status: number])[] = [
  ["two equal lengths", `${HEAD}${LENGTH}${LENGTH}\r\nok`, 200],
  ["two equal lengths in one header", `${HEAD}Content-Length: 2, 2\r\n\r\nok`, 200],
  [
    "a length and chunks",
    `${HEAD}${LENGTH}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
    200,
  ],
  [
    "chunks and a length",
    `${HEAD}Transfer-Encoding: chunked\r\n${LENGTH}\r\n2\r\nok\r\n0\r\n\r\n`,
    200,
  ],
  ["line feeds alone", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", 200],
  ["one line feed alone", `HTTP/1.1 202 A\n${LENGTH}\r\nok`, 202],
  ["an unknown transfer encoding", `${HEAD}Transfer-Encoding: chunked, odd\r\n\r\nok`, 200],
  ["a NUL in a header's value", `${HEAD}A: b\0c\r\n${LENGTH}\r\nok`, 200],
  ["a blank in a header's name", `${HEAD}A b: c\r\n${LENGTH}\r\nok`, 200],
  ["a blank before the colon", `${HEAD}A : c\r\n${LENGTH}\r\nok`, 200],
  ["a header without a name", `${HEAD}: c\r\n${LENGTH}\r\nok`, 200],
  ["a header without a colon", `${HEAD}nothing\r\n${LENGTH}\r\nok`, 200],
  ["a folded header", `${HEAD}A: b\r\n c\r\n${LENGTH}\r\nok`, 200],
  ["a folded line first", `${HEAD} c\r\n${LENGTH}\r\nok`, 200],
  ["a length with a sign", `${HEAD}Content-Length: +2\r\n\r\nok`, 200],
  ["a length beyond any number", `${HEAD}Content-Length: ${"9".repeat(30)}\r\n\r\nok`, 200],
  ["an empty length", `${HEAD}Content-Length:\r\n\r\nok`, 200],
  ["no chunk size", `${CHUNKED}xyz\r\n`, 200],
  ["a chunk longer than it says", `${CHUNKED}1\r\nokay\r\n`, 200],
  ["a trailer without a colon", `${CHUNKED}0\r\nnothing\r\n\r\n`, 200],
  ["no reason", `HTTP/1.1 200\r\n${LENGTH}${LENGTH}\r\nok`, 200],
  ["two blanks before the status", `HTTP/1.1  200 OK\r\n${LENGTH}\r\nok`, 200],
  ["an odd byte in the reason", `HTTP/1.1 200 O\x01K\r\n${LENGTH}\r\nok`, 200],
  ["HTTP/1.0", `HTTP/1.0 201 C\n${LENGTH}${LENGTH}\nok`, 201],
  [
    "interim responses before",
    `HTTP/1.1 103 E\r\nLink: x\r\n\r\n${HEAD}${LENGTH}${LENGTH}\r\nok`,
    200,
  ],
  ["interim responses in line feeds", "HTTP/1.1 100 C\n\nHTTP/1.1 204 N\n\n", 204],
  ["a failure", `HTTP/1.1 500 No\r\n${LENGTH}${LENGTH}\r\nno`, 500],
];

/** Responses that still count as failures. */
const REFUSED: readonly (readonly [name: string, response: string])[] = [
  ["two different lengths", `${HEAD}${LENGTH}Content-Length: 3\r\n\r\nok`],
  ["two different lengths in one header", `${HEAD}Content-Length: 2, 3\r\n\r\nok`],
  ["a status of four digits", `HTTP/1.1 2000 OK\r\n${LENGTH}\r\nok`],
  ["no blank after the status", `HTTP/1.1 200OK\r\n${LENGTH}\r\nok`],
  ["another protocol", `ICY 200 OK\r\n${LENGTH}\r\nok`],
  ["101, which nobody asked for", "HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"],
  ["a faulty interim response alone", `HTTP/1.1  103 E\r\n${LENGTH}${LENGTH}\r\n`],
];

const writes = {
  "in one piece": (socket: Socket, response: string) => socket.write(response, "latin1"),
  "in bytes": (socket: Socket, response: string) => {
    socket.setNoDelay(true);
    const bytes = [...Buffer.from(response, "latin1")];
    const next = () => {
      const byte = bytes.shift();
      if (byte !== undefined && socket.writable) {
        socket.write(Buffer.of(byte), () => setImmediate(next));
      }
    };
    next();
  },
} as const;

const WAYS = Object.keys(writes) as (keyof typeof writes)[];

const authority = issue({ name: "an authority", isCa: true });
const { cert, key } = issue({ name: "odd", hosts: ["127.0.0.1"], by: authority });
let respondTo: (socket: Socket) => void = () => undefined;
const secure = createTlsServer({ cert, key }, (socket) => {
  socket.on("error", () => undefined);
  socket.once("data", () => respondTo(socket));
});

beforeAll(async () => {
  secure.listen(0, "127.0.0.1");
  await once(secure, "listening");
});

afterAll(() => {
  secure.close();
});

async function results(response: string, way: keyof typeof writes) {
  respondTo = (socket) => writes[way](socket, response);
  const { port } = secure.address() as AddressInfo;
  await using plain = await rawServer(respondTo);
  await using http = httpClient({ ca: authority.cert });
  const seen: SendResult[] = [];
  for (const url of [plain.url, `https://127.0.0.1:${port}`]) {
    seen.push(await http.post(endpointOf(url)));
  }
  // The connection is not used again.
  await expect.poll(plain.open).toBe(0);
  return seen;
}

for (const way of WAYS) {
  test.each(TAKEN)(`%s, ${way}: the status counts`, async (_name, response, status) => {
    expect((await results(response, way)).map(outcome)).toEqual([status, status]);
  });

  test.each(REFUSED)(`%s, ${way}: no response`, async (_name, response) => {
    expect((await results(response, way)).map(outcome)).toEqual(["protocol", "protocol"]);
  });

  test.each([
    ["before the fault", `Retry-After: 7\r\n${LENGTH}${LENGTH}`, "7"],
    ["after the fault", `${LENGTH}${LENGTH}retry-after:7\r\n`, "7"],
    ["folded", `Retry-After:\r\n 7\r\n${LENGTH}`, "7"],
    ["twice", `${LENGTH}nothing\r\nRetry-After: 7\r\nRetry-After: 8\r\n`, "7,8"],
  ])(`Retry-After %s, ${way}, is read`, async (_name, headers, retryAfter) => {
    const response = `HTTP/1.1 503 S\r\n${headers}\r\nno`;
    expect(await results(response, way)).toMatchObject([{ retryAfter }, { retryAfter }]);
  });
}

test("a head that comes in many pieces is read as one", async () => {
  await using server = await rawServer((socket) =>
    writes["in bytes"](socket, `HTTP/1.1 503 S\r\nRetry-After: 9\r\n${LENGTH}\r\nno`),
  );
  await using http = httpClient();
  for (let request = 0; request < 3; request += 1) {
    expect(await http.post(endpointOf(server.url))).toMatchObject({ status: 503, retryAfter: "9" });
  }
  expect(server.connections()).toBe(1);
});
