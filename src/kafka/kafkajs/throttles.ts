/**
 * Reports the pauses that brokers request. A client is recognized by its socket factory, to which each
 * of its connections refers.
 */

export interface Throttle {
  readonly broker: string;
  /** The request that the broker responded to. */
  readonly request: string;
  readonly throttleMs: number;
}

type Report = (throttle: Throttle) => void;

const reportOf = new WeakMap<object, Report>();

/** Makes `report` be called when a broker throttles the client with this socket factory. */
export function reportThrottles(socketFactory: object, report: Report): void {
  reportOf.set(socketFactory, report);
}

export function throttled(socketFactory: object, throttle: Throttle): void {
  reportOf.get(socketFactory)?.(throttle);
}
