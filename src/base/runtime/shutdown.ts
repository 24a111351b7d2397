/**
 * Turns SIGTERM and SIGINT into an AbortSignal. The first of these signals requests a graceful stop.
 *
 *   a later signal                   the process
 *   SIGTERM, any number of times     continues its stop: signals to a process group arrive
 *                                    directly, and again from parents that forward them
 *   SIGINT within half a second      continues its stop: npm forwards Ctrl-C to programs that
 *                                    already got it from the terminal
 *   another SIGINT                   ends immediately: Ctrl-C was pressed twice
 */

const SAME_PRESS_MS = 500;

/**
 * Aborts with the name of the signal as the reason. Disposing of the result restores Node's own handling.
 *
 * @param nowMs any clock that never goes back.
 */
export function shutdownSignal(
  nowMs: () => number = () => performance.now(),
): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  let pressedAtMs: number | null = null;
  const forget = () => {
    process.off("SIGTERM", onTerm);
    process.off("SIGINT", onInt);
  };
  const onTerm = () => controller.abort("SIGTERM");
  const onInt = () => {
    if (pressedAtMs !== null && nowMs() - pressedAtMs >= SAME_PRESS_MS) {
      forget();
      process.kill(process.pid, "SIGINT");
      return;
    }
    pressedAtMs ??= nowMs();
    controller.abort("SIGINT");
  };
  process.on("SIGTERM", onTerm);
  process.on("SIGINT", onInt);
  return { signal: controller.signal, [Symbol.dispose]: forget };
}

/**
 * Calls back at each SIGHUP. The signal then no longer ends the process: as in other daemons, SIGHUP reloads the
 * configuration. Disposing of the result restores Node's own handling.
 */
export function onHangUp(then: () => void): Disposable {
  process.on("SIGHUP", then);
  return { [Symbol.dispose]: () => process.off("SIGHUP", then) };
}
