/**
 * Sends server-sent events, with one stream for each open view. Every tab keeps the stream of the overview open.
 * Whenever an action changes, this stream also gets a `jobs` event with all actions. If a browser stops reading,
 * nothing is sent until it reads again. When the last stream is closed, Kafka is no longer polled.
 */

import type { ServerResponse } from "node:http";

import type { Clock } from "../../base/runtime/clock.ts";

import type { Log } from "../../base/telemetry/log.ts";
import type { Jobs } from "./jobs.ts";
import type { Poller } from "./poller.ts";
import type { ConsoleReader, PageFiles, Poll } from "./ports.ts";
import { NOT_KEPT, SECURITY_HEADERS } from "./responses.ts";
import type { View } from "./routes.ts";
import { destinationOf, overviewOf, rowsOf } from "./views.ts";

const STREAMS_MAX = 100;
/** How long a browser waits before it reconnects. */
const RETRY_MS = 2_000;

export interface ServerDeps {
  readonly reader: ConsoleReader;
  readonly files: PageFiles;
  readonly clock: Pick<Clock, "nowMs" | "sleep">;
  readonly log: Log;
  readonly poller: Poller;
  readonly jobs: Jobs;
}

export function eventStreams({ poller, jobs }: Pick<ServerDeps, "poller" | "jobs">) {
  let open = 0;
  const eventsOf = (view: View) => {
    const sent = new Map<string, string>();
    return (poll: Poll, nowMs: number): object => {
      const { history } = poller;
      if (view.of === "overview") return overviewOf(poll, history, nowMs);
      if (view.of === "destinations") return rowsOf(poll, history, sent);
      return destinationOf(poll, history, view.id, nowMs) ?? { isMissing: true };
    };
  };
  return {
    /** Returns false if too many streams are open. @param isAllowed false once the session has ended. */
    open: (response: ServerResponse, view: View, isAllowed: () => boolean): boolean => {
      if (open >= STREAMS_MAX) return false;
      open += 1;
      response.writeHead(200, {
        ...SECURITY_HEADERS,
        "cache-control": NOT_KEPT,
        "content-type": "text/event-stream; charset=utf-8",
        // With this header, proxies do not buffer the response.
        "x-accel-buffering": "no",
      });
      response.write(`retry: ${RETRY_MS}\n\n`);
      const eventOf = eventsOf(view);
      let isBehind = false;
      const sendJobs = () => {
        isBehind = response.writableNeedDrain;
        if (isBehind) return;
        response.write(`event: jobs\ndata: ${JSON.stringify(jobs.list())}\n\n`);
      };
      const hasJobs = view.of === "overview";
      const watch = poller.watch((poll, nowMs) => {
        if (!isAllowed()) return void response.end();
        if (hasJobs && (isBehind || jobs.isAnyRunning)) sendJobs();
        if (response.writableNeedDrain) return;
        response.write(`data: ${JSON.stringify(eventOf(poll, nowMs))}\n\n`);
      });
      if (hasJobs) sendJobs();
      const change = hasJobs ? jobs.onChange(sendJobs) : null;
      response.once("close", () => {
        open -= 1;
        watch[Symbol.dispose]();
        change?.[Symbol.dispose]();
      });
      return true;
    },
  };
}
