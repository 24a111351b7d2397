/**
 * Reports the pauses that brokers request. As with pools (`connection-pools.ts`), a client is recognized
 * by its socket factory, which each of its connections has.
 */

export interface Throttle {
  readonly broker: string;
  /** The request that the broker responded to. */
  readonly request: string;
  readonly throttleMs: number;
}

type Report = (throttle: Throttle) => void;

const reportOf = new WeakMap<object, Report>();

/** From now on the throttles of the client with this socket factory are reported. */
export function reportThrottles(socketFactory: object, report: Report): void {
  reportOf.set(socketFactory, report);
}

export function throttled(socketFactory: object, throttle: Throttle): void {
  reportOf.get(socketFactory)?.(throttle);
}
