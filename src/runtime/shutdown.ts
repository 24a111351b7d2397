/**
 * SIGTERM and SIGINT as an AbortSignal. The first one asks for a graceful stop; a second one is
 * left to Node, which ends the process at once: whoever presses Ctrl-C twice means it.
 */

/** Aborts with the signal's name as reason. Disposing it gives the signals back to Node. */
export function shutdownSignal(): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const forget = () => {
    process.off("SIGTERM", onSignal);
    process.off("SIGINT", onSignal);
  };
  const onSignal = (name: NodeJS.Signals) => {
    forget();
    controller.abort(name);
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  return { signal: controller.signal, [Symbol.dispose]: forget };
}
