// The responses of the endpoints in a chaos run to a batch, given the responses that its calls would get alone.

import { expect, test } from "vitest";

import { replyTo, type ScriptedResponse } from "../../chaos/scripts.ts";

function status(
  code: number,
  retryAfterSeconds: number | null = null,
  afterMs = 5,
): ScriptedResponse {
  return { kind: "status", status: code, retryAfterSeconds, afterMs };
}

const RESET: ScriptedResponse = { kind: "reset" };
const HANG: ScriptedResponse = { kind: "hang" };
const NOT_SPLIT = { each: null, isSplit: false };

test.each<
  [string, readonly ScriptedResponse[], "whole" | "each" | null, ReturnType<typeof replyTo>]
>([
  ["without batches", [status(503, 2)], null, { scripted: status(503, 2), ...NOT_SPLIT }],
  ["all accepted", [status(200), status(204)], "whole", { scripted: status(200), ...NOT_SPLIT }],
  ["one fails", [status(200), status(503)], "whole", { scripted: status(503), ...NOT_SPLIT }],
  [
    "one is rejected",
    [status(200), status(503), status(400)],
    "whole",
    { scripted: status(400), each: null, isSplit: true },
  ],
  ["the only one is rejected", [status(400)], "whole", { scripted: status(400), ...NOT_SPLIT }],
  ["the first hangs", [HANG, status(200)], "each", { scripted: HANG, ...NOT_SPLIT }],
  ["the first is reset", [RESET, status(400)], "whole", { scripted: RESET, ...NOT_SPLIT }],
  [
    "a later one hangs",
    [status(200), HANG],
    "each",
    { scripted: status(200), each: [200, 503], isSplit: false },
  ],
  ["a later one is reset", [status(200), RESET], "whole", { scripted: status(503), ...NOT_SPLIT }],
  [
    "each for itself",
    [status(204), status(429, 3, 50), status(400), status(503, 1)],
    "each",
    { scripted: status(200, 3, 50), each: [204, 429, 400, 503], isSplit: false },
  ],
])("%s", (_, planned, responses, reply) => {
  expect(replyTo(planned, responses)).toEqual(reply);
});
