/**
 * Server-sent events, a stream for each open view. A peer that does not read is sent nothing more
 * until it does. With the last stream closed, nobody looks at Kafka any more.
 */

import type { ServerResponse } from "node:http";

import { NOT_KEPT, SECURITY_HEADERS } from "./headers.ts";
import type { View } from "./routes.ts";
import type { ServerDeps } from "./server-deps.ts";
import { destinationOf, overviewOf, rowsOf } from "./told.ts";
import type { Seen } from "./view.ts";

const STREAMS_MAX = 100;
/** How long a browser waits before it asks again. */
const RETRY_MS = 2_000;

export function eventStreams({ looking, eyes }: Pick<ServerDeps, "looking" | "eyes">) {
  let open = 0;
  const telling = (view: View) => {
    const told = new Map<string, string>();
    return (seen: Seen, nowMs: number): object => {
      const { history } = looking;
      if (view.of === "overview") return overviewOf(seen, history, nowMs);
      if (view.of === "destinations") return rowsOf(seen, history, told);
      const sources = eyes.sourcesOf(view.id);
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
      const watch = looking.watch((seen, nowMs) => {
        if (response.writableNeedDrain) return;
        response.write(`data: ${JSON.stringify(tell(seen, nowMs))}\n\n`);
      });
      response.once("close", () => {
        open -= 1;
        watch[Symbol.dispose]();
      });
      return true;
    },
  };
}
