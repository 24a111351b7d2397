/**
 * Reports events: writes log lines, if they are enabled, and reports every lost call.
 *
 *   a call is lost                            report
 *   with `onError`                            `onError` is called for each call, in order
 *   without `onError`                         a line for the first call of each reason
 *   inside `onError` itself                   a line, because calling `onError` again might never end
 *   `onError` or `onSuccess` throws, or       a line, and the library continues
 *   returns a promise that rejects
 *
 * Lines never contain the write key. They contain a payload only if `debugPayloads` is on.
 */

import { isError, type Loss, type LossReason, type LostCall } from "./client-error.ts";
import type { EncodedCall } from "./encode.ts";
import type { Settings } from "./options.ts";

export interface Journal {
  log(line: string): void;
  queued(type: string, call: EncodedCall, waiting: number): void;
  lost(calls: readonly EncodedCall[], loss: Loss): void;
  acknowledged(calls: readonly EncodedCall[], attempts: number): void;
}

type JournalSettings = Pick<Settings, "debug" | "debugPayloads" | "onError" | "onSuccess" | "log">;

/** @param print writes a line if the application has not passed a `log`. */
export function createJournal(
  { debug, debugPayloads, onError, onSuccess, log }: JournalSettings,
  print: (line: string) => void,
): Journal {
  const isOn = debug || debugPayloads;
  const reported = new Set<LossReason>();
  let isReporting = false;
  // A failing `log` must not make the application's work fail.
  const write = (line: string) =>
    called(
      () => (log ?? print)(`switchyard analytics: ${line}`),
      () => undefined,
    );
  const threw = (name: string) => (error: unknown) =>
    write(`${name} threw: ${isError(error) ? error.message : "no error was given"}`);
  const reportOnce = (count: number, { reason, message }: Loss) => {
    if (reported.has(reason)) return;
    reported.add(reason);
    write(
      `lost ${count === 1 ? "1 call" : `${count} calls`} (${reason}): ${message}. ` +
        "Further losses for this reason are not printed; to be notified of each loss, pass onError.",
    );
  };
  const report = (call: EncodedCall, loss: Loss, callback: (lost: LostCall) => void) => {
    isReporting = true;
    const lost = { ...loss, call: JSON.parse(call.json) as LostCall["call"] };
    called(() => callback(lost), threw("onError"));
    isReporting = false;
  };
  return {
    log: (line) => {
      if (isOn) write(line);
    },
    queued: (type, { json, bytes }, waiting) => {
      if (isOn) write(`queued ${type}, ${bytes} bytes; ${waiting} waiting`);
      if (debugPayloads) write(json);
    },
    lost: (calls, loss) => {
      if (onError === null || isReporting) reportOnce(calls.length, loss);
      else for (const call of calls) report(call, loss, onError);
    },
    acknowledged: (calls, attempts) => {
      if (onSuccess === null) return;
      const acknowledged = { calls: calls.map(({ json }) => JSON.parse(json)), attempts };
      called(() => onSuccess(acknowledged), threw("onSuccess"));
    },
  };
}

/** Calls a function of the application, which may be `async`. @param failed called with what it throws, now or later. */
function called(callback: () => unknown, failed: (error: unknown) => void): void {
  try {
    const result = callback();
    if (result instanceof Promise) result.catch(failed);
  } catch (error) {
    failed(error);
  }
}
