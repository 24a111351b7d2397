// The law of pausing, whatever else happens: no attempt starts after the process has received a pause, and when no
// pause is in force any more, the endpoint accepts everything that was routed.

import fc from "fast-check";
import { expect, test } from "vitest";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";
import { CRM, DeliverWorld } from "../../../support/worlds/deliver-world.ts";

const step = fc.oneof(
  fc.record({ kind: fc.constant("pause" as const), forMs: fc.option(fc.nat(20_000)) }),
  fc.record({ kind: fc.constant("resume" as const) }),
  fc.record({ kind: fc.constant("append" as const), count: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ kind: fc.constant("wait" as const), ms: fc.nat(30_000) }),
  fc.record({ kind: fc.constant("restart" as const) }),
);

/** With these, each run has something that would be attempted during a pause. */
const FIRST = [
  { kind: "pause", forMs: null },
  { kind: "wait", ms: 1_000 },
  { kind: "append", count: 1 },
  { kind: "wait", ms: 1_000 },
] as const;

test("no attempt begins in a pause that is known, and a resumed queue loses nothing", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), fc.nat(3), async (steps, failures) => {
      const crm = webhookDestination({ urls: ["http://crm.test/"], messageIdHeader: true });
      const early: number[] = [];
      let operatorActions: Awaited<ReturnType<DeliverWorld["control"]>> | null = null;
      const world: DeliverWorld = new DeliverWorld({
        destinations: [crm],
        respond: (_, earlier) => {
          if (operatorActions?.pauseOf(CRM)) early.push(world.clock.nowMs());
          return earlier < failures ? 503 : 200;
        },
      });
      operatorActions = await world.control();
      let { deliver } = await world.run();
      let count = 0;
      for (const each of [...FIRST, ...steps]) {
        if (each.kind === "pause") await world.pause(each.forMs);
        else if (each.kind === "resume") await world.resume();
        else if (each.kind === "wait") await world.settle(each.ms);
        else if (each.kind === "append") {
          world.calls(each.count, { user: () => "u" });
          count += each.count;
        } else {
          await world.stop(deliver);
          deliver = await world.startDeliver();
        }
      }
      await world.resume();
      await world.settle(300_000);
      expect(early).toEqual([]);
      expect(world.deadLetters()).toEqual([]);
      expect(new Set(world.sent()).size).toBe(count);
    }),
    { numRuns: costlyInputs(100, 60) },
  );
});
