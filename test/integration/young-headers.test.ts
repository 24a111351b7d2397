// Uses the internal parser of undici, which a newer undici may store elsewhere.

import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, Socket } from "node:net";

import { buildConnector, Client } from "undici";
import { expect, test } from "vitest";

import { renewHeaders } from "../../src/http/bound-response.ts";

interface Parser {
  readonly headers: readonly unknown[];
}

function parserOf(socket: Socket): Parser {
  const symbol = Object.getOwnPropertySymbols(socket).find((each) => each.description === "parser");
  if (symbol === undefined) throw new Error("undici keeps its parser elsewhere");
  return (socket as Socket & Record<symbol, Parser>)[symbol] as Parser;
}

test("a connection that is used again has another array for headers, and reads them", async () => {
  const server = createServer((_request, response) => {
    response.setHeader("x-response", "yes").end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const connect = buildConnector({});
  let socket = new Socket();
  // If undici has no such array, there is nothing to renew.
  renewHeaders(socket);
  const client = new Client(`http://127.0.0.1:${port}`, {
    connect: (options, callback) =>
      connect(options, (...connected) => {
        const [, made] = connected;
        if (made !== null) socket = made;
        callback(...connected);
      }),
  });
  const ask = () => client.request({ path: "/", method: "GET" });
  await (await ask()).body.dump();
  const kept = parserOf(socket).headers;
  renewHeaders(socket);
  expect(parserOf(socket).headers).not.toBe(kept);
  expect(parserOf(socket).headers).toEqual([]);
  const { headers, body } = await ask();
  await body.dump();
  expect(headers).toMatchObject({ "x-response": "yes" });
  await client.close();
  server.close();
});
