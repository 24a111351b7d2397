/** A token endpoint whose responses a test scripts, on the test's clock. */

import { responded } from "../../../src/router/destinations/port.ts";
import { Tokens } from "../../../src/router/destinations/webhook/authorized.ts";
import type { ManualClock } from "../clock/manual-clock.ts";

/** The token, or the status of a response without one. */
export type TokenResponse = string | number;

const RESPONDS_AFTER_MS = 1;

/** @param respond called for each request, with the number of earlier ones. */
export function scriptedTokens(
  clock: ManualClock,
  respond: (earlier: number) => TokenResponse,
  expiresIn = 3_600,
) {
  const requests: { readonly url: string; readonly atMs: number; readonly form: string }[] = [];
  const tokens = new Tokens(
    {
      update: () => false,
      open: () => ({
        send: ({ url }, { body }, done, phases) => {
          const given = respond(requests.length);
          requests.push({ url, atMs: clock.nowMs(), form: body.toString() });
          const token = { access_token: given, expires_in: expiresIn };
          const status = typeof given === "string" ? 200 : given;
          const response = status === 200 ? Buffer.from(JSON.stringify(token)) : undefined;
          clock.schedule(RESPONDS_AFTER_MS, () =>
            done(responded(status, null, RESPONDS_AFTER_MS, phases, response)),
          );
        },
        update: () => undefined,
        close: () => Promise.resolve(),
      }),
    },
    clock,
  );
  return { tokens, requests };
}
