// Looks at the internal parser of undici, which a newer undici may store elsewhere.

import { subscribe } from "node:diagnostics_channel";
import { expect, test, vi } from "vitest";

import { endpointOf } from "../support/build/webhook-destination.ts";
import { httpClient, outcome } from "../support/servers/http-client.ts";
import { rawServer } from "../support/servers/raw-server.ts";

/** The array in which undici will keep the headers of the next response. */
function headersOf(socket: object): unknown {
  const symbol = Object.getOwnPropertySymbols(socket).find((each) => each.description === "parser");
  if (symbol === undefined) throw new Error("undici keeps its parser elsewhere");
  return (socket as Record<symbol, { readonly headers: unknown }>)[symbol]?.headers;
}

test("an array that has waited for a response gets no headers", async () => {
  const waited: unknown[] = [];
  subscribe("undici:client:sendHeaders", (message) => {
    waited.push(headersOf((message as { readonly socket: object }).socket));
  });
  const now = performance.now.bind(performance);
  await using server = await rawServer((socket) => {
    vi.spyOn(performance, "now").mockImplementation(() => now() + 1_000);
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  });
  await using http = httpClient();
  expect(outcome(await http.post(endpointOf(server.url)))).toBe(200);
  expect(waited).toEqual([[]]);
});
