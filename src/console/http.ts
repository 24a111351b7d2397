/**
 * Server-sent events, a stream for each open view. That of the overview, which every page has open,
 * also has events `jobs` with all actions, when something of them changes. A peer that does not read
 * is sent nothing more until it does. With the last stream closed, nobody looks at Kafka any more.
 */

import type { ServerResponse } from "node:http";

import { NOT_KEPT, SECURITY_HEADERS } from "./headers.ts";
import type { View } from "./routes.ts";
import type { ServerDeps } from "./server-deps.ts";
import type { ConsoleSnapshot } from "./view.ts";
import { destinationOf, overviewOf, rowsOf } from "./views.ts";

const STREAMS_MAX = 100;
/** How long a browser waits before it asks again. */
const RETRY_MS = 2_000;

type Deps = Pick<ServerDeps, "poller" | "reader" | "jobs">;

export function eventStreams({ poller, reader, jobs }: Deps) {
  let open = 0;
  const telling = (view: View) => {
    const told = new Map<string, string>();
    return (seen: ConsoleSnapshot, nowMs: number): object => {
      const { history } = poller;
      if (view.of === "overview") return overviewOf(seen, history, nowMs);
      if (view.of === "destinations") return rowsOf(seen, history, told);
      const sources = reader.sourcesOf(view.id);
      return destinationOf(seen, history, view.id, sources, nowMs) ?? { isMissing: true };
    };
  };
  return {
    /** False: there are too many. */
    open: (response: ServerResponse, view: View): boolean => {
      if (open >= STREAMS_MAX) return false;
      open += 1;
      response.writeHead(200, {
        ...SECURITY_HEADERS,
        "cache-control": NOT_KEPT,
        "content-type": "text/event-stream; charset=utf-8",
        // For proxies that gather answers.
        "x-accel-buffering": "no",
      });
      response.write(`retry: ${RETRY_MS}\n\n`);
      const tell = telling(view);
      let isBehind = false;
      const tellJobs = () => {
        isBehind = response.writableNeedDrain;
        if (isBehind) return;
        response.write(`event: jobs\ndata: ${JSON.stringify(jobs.views())}\n\n`);
      };
      const tellsJobs = view.of === "overview";
      const watch = poller.watch((seen, nowMs) => {
        if (tellsJobs && (isBehind || jobs.isAnyRunning)) tellJobs();
        if (response.writableNeedDrain) return;
        response.write(`data: ${JSON.stringify(tell(seen, nowMs))}\n\n`);
      });
      if (tellsJobs) tellJobs();
      const change = tellsJobs ? jobs.onChange(tellJobs) : null;
      response.once("close", () => {
        open -= 1;
        watch[Symbol.dispose]();
        change?.[Symbol.dispose]();
      });
      return true;
    },
  };
}
