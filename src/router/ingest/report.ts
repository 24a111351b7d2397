/** Updates the counters of the ingest stage, and writes its log events. */

import { LineLimit } from "../../base/telemetry/log-rate-limit.ts";
import type { SourceId } from "../../domain/ids.ts";
import type { StageDeps } from "../stage/running-stage.ts";
import type { RejectedKind } from "./paths.ts";
import type { CallsRead } from "./read-calls.ts";
import { ANSWERS, type Answer, failure } from "./responses.ts";

const LOG_LINES_PER_SECOND = 10;
const stage = "ingest";

export interface Report {
  countAnswer(answer: Answer | null, tookMs: number): void;
  /** Counts a body that is accepted but not stored. */
  countIgnored(kind: RejectedKind): void;
  countCalls(
    source: SourceId,
    read: { readonly written: number } & Pick<CallsRead, "repaired" | "suppressed" | "rejected">,
  ): void;
  logFailure(error: unknown): Answer;
}

export function createReport({
  metrics,
  log,
  clock,
}: Pick<StageDeps, "log" | "metrics" | "clock">): Report {
  const lines = new LineLimit(LOG_LINES_PER_SECOND);
  // The counters are created at the start. If a counter appeared only with its first request, Prometheus would not
  // see its first increase.
  for (const code of ["ok", ...Object.keys(ANSWERS)]) metrics.ingestRequests.bind({ code });
  const duration = metrics.ingestDuration.bind({});
  const suppressed = metrics.suppressed.bind({ stage, destination: "" });
  const recordsOut = metrics.recordsOut.bind({ stage });
  /** Returns null if the event must not be logged. */
  const admitted = () => {
    const omittedLines = lines.admit(clock.nowMs());
    return omittedLines === null ? null : { stage, omittedLines };
  };
  return {
    countAnswer: (answer, tookMs) => {
      const code =
        answer === null ? "client-closed" : answer.kind === "failure" ? answer.code : "ok";
      metrics.ingestRequests.bind({ code }).inc();
      duration.observe(tookMs / 1_000);
      if (code === "ok" || code === "client-closed") return;
      const line = admitted();
      if (line !== null) log.warn({ ...line, code }, "ingest.request-rejected");
    },
    countIgnored: (kind) => metrics.ingestRequests.bind({ code: `ignored-${kind}` }).inc(),
    countCalls: (source, { written, repaired, suppressed: notWritten, rejected }) => {
      recordsOut.inc(written);
      metrics.ingestCalls.bind({ source }).inc(written);
      suppressed.inc(notWritten);
      if (repaired > 0) metrics.ingestCallsRepaired.bind({ source }).inc(repaired);
      for (const [reason, { count, error }] of rejected) {
        metrics.ingestCallsRejected.bind({ source, reason }).inc(count);
        const line = admitted();
        if (line === null) continue;
        log.warn({ ...line, source, reason, count, error }, "ingest.calls-rejected");
      }
    },
    logFailure: (error) => {
      const line = admitted();
      // The message may quote the body, which may contain personal data.
      const name = error instanceof Error ? error.name : typeof error;
      if (line !== null) log.error({ ...line, error: name }, "ingest.internal-error");
      return failure("kafka-unavailable", null, 1);
    },
  };
}
