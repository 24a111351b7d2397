/**
 * SIGTERM and SIGINT as an AbortSignal: the first of either asks for a graceful stop.
 *
 *   then comes                       what becomes of it
 *   SIGTERM, however often           nothing: whole process groups are told, and those in between
 *                                    pass it on too
 *   SIGINT within half a second      nothing: npm passes Ctrl-C on to a program that the
 *                                    terminal has told already
 *   another SIGINT                   the process ends at once: Ctrl-C was pressed twice
 */

const SAME_PRESS_MS = 500;

/**
 * Aborts with the signal's name as reason. Disposing it gives the signals back to Node.
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
 * Calls back at each SIGHUP, which no longer ends the process: to a program that runs in the background
 * it says to read its configuration again. Disposing it gives the signal back.
 */
export function onHangUp(then: () => void): Disposable {
  process.on("SIGHUP", then);
  return { [Symbol.dispose]: () => process.off("SIGHUP", then) };
}
