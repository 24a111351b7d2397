/** SIGHUP: to a program that runs in the background it says to read its configuration again. */

/** Calls back at each SIGHUP, which no longer ends the process. Disposing it gives the signal back. */
export function onHangUp(then: () => void): Disposable {
  process.on("SIGHUP", then);
  return { [Symbol.dispose]: () => process.off("SIGHUP", then) };
}
