/**
 * Reloads the configuration for each of these causes.
 *
 *   cause                     once the stages run   before that
 *   a file has changed        reload                reload when they have started
 *   SIGHUP                    reload                the same
 *   POST /-/reload            reload                503
 *
 *   outcome               response
 *   applied, unchanged    200
 *   invalid               422
 *   failed                500
 */

import { onHangUp } from "../../base/runtime/shutdown.ts";
import type { Loaded } from "../../config/load.ts";
import type { Reload } from "./admin-server.ts";
import { type ReloadDeps, Reloader, type RunningConfiguration } from "./reload.ts";
import type { ReloadOutcome } from "./reload-report.ts";
import { watchFiles } from "./watch-files.ts";

/** The configuration with which the stages are started. */
export type Configuration = Pick<
  Extract<Loaded, { readonly kind: "config" }>,
  "config" | "files" | "hash"
>;

export interface ReloadCauses extends Disposable {
  readonly request: Reload;
  /** Call when the stages have started. */
  begin(deps: Omit<ReloadDeps, "follow">): void;
  readonly healthProblems: () => readonly string[];
  /** The problems of the configuration on disk; null if it is valid. */
  readonly refused: () => ReturnType<Reloader["refused"]>;
  /** Null if the stages have not started. */
  readonly running: () => RunningConfiguration | null;
}

const STATUS: Readonly<Record<ReloadOutcome, number>> = {
  applied: 200,
  unchanged: 200,
  invalid: 422,
  failed: 500,
};
const NOT_YET = { outcome: "failed", problems: ["the stages have not started"] };

/** Handles SIGHUP from now on. When the result is disposed, none of the three causes has an effect any more. */
export function reloadCauses(configuration: Configuration): ReloadCauses {
  const held = new DisposableStack();
  let reloader: Reloader | null = null;
  held.use(onHangUp(() => void reloader?.reload("SIGHUP")));
  return {
    request: async () => {
      if (reloader === null) return { status: 503, report: NOT_YET };
      const report = await reloader.reload("request");
      return { status: STATUS[report.outcome], report };
    },
    begin: (deps) => {
      const follow = (files: readonly string[]) => watch.follow(files);
      const begun = held.use(new Reloader({ ...deps, follow }, configuration));
      reloader = begun;
      let cause: "start" | "file" = "start";
      const watch = held.use(
        watchFiles(configuration.files, async () => {
          await begun.reload(cause);
          cause = "file";
        }),
      );
    },
    running: () => reloader?.running() ?? null,
    healthProblems: () => reloader?.healthProblems() ?? [],
    refused: () => reloader?.refused() ?? null,
    [Symbol.dispose]: () => held.dispose(),
  };
}
