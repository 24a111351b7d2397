/** The way in which a shared stage says that it cannot go on. */

import { asError } from "../runtime/as-error.ts";
import { ClosedError } from "./port.ts";

/**
 * Calls `act` at most once. A closed producer is no failure: it is closed after the stages, whoever
 * closed it knows, and the records will be read again.
 */
export function failOnce(act: (error: Error) => void): (thrown: unknown) => void {
  let isDone = false;
  return (thrown) => {
    if (isDone || thrown instanceof ClosedError) return;
    isDone = true;
    act(asError(thrown));
  };
}
