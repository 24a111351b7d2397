import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { systemClock } from "../../../../src/base/runtime/clock.ts";
import type { OutgoingRecord } from "../../../../src/domain/record.ts";
import { createHealth } from "../../../../src/program/run/health.ts";
import { RunningParts, type SharedParts } from "../../../../src/program/run/running-parts.ts";
import { ProcessLedger } from "../../../../src/router/ledger/process-ledger.ts";
import type { RunningStage } from "../../../../src/router/stage/running-stage.ts";
import { parsedLog } from "../../../support/log/parsed-log.ts";

test("all ledger records that stages write when they stop are written before the producer closes", async () => {
  const events: string[] = [];
  const producer = {
    send: async (records: readonly OutgoingRecord[]) => {
      events.push(`writes ${records.map(({ value }) => value).join()}`);
      await turn();
      return [];
    },
    close: () => {
      events.push("closes");
      return Promise.resolve();
    },
  };
  const ledger = new ProcessLedger({ producer, clock: systemClock, topic: "ledger", process: "p" });
  const stageOf = (name: string) => ({
    name,
    [Symbol.asyncDispose]: () => {
      const record = { topic: "ledger", key: null, value: Buffer.from(name), headers: [] };
      void ledger.write([record]);
      return Promise.resolve();
    },
  });
  const stages = [stageOf("route"), stageOf("deliver"), stageOf("delay")];
  const kafka = { close: () => Promise.resolve() };
  const reloads = { [Symbol.dispose]: () => undefined };
  const shared = { kafka, producer, ledger, tracing: null, reloads } as unknown as SharedParts;
  const parts = new RunningParts(
    stages as unknown as RunningStage[],
    shared,
    createHealth([]),
    parsedLog().log,
  );
  await parts[Symbol.asyncDispose]();
  expect(events).toEqual(["writes route", "writes deliver,delay", "closes"]);
});
