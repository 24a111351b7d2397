/**
 * Chooses the version of a request that is sent to a broker: the highest that both support. A broker lists
 * the versions that it accepts when a connection is opened, and a new release of Kafka may drop old ones.
 *
 *   the broker accepts                   then
 *   a version that we can send           the highest of these is sent
 *   only newer versions                  an error: Switchyard is too old for this broker
 *   only older versions, or none         an error: the broker is too old for Switchyard
 */

interface AcceptedVersions {
  readonly minVersion: number;
  readonly maxVersion: number;
}

/** By API key. */
export type BrokerVersions = Readonly<Record<number, AcceptedVersions>>;

export interface RequestKind {
  readonly apiKey: number;
  /** Kafka's name for the request, such as `ListOffsets`. */
  readonly apiName: string;
  /** Versions that can be sent, ascending. */
  readonly versions: readonly number[];
}

/** Kafka's name for the error. The error counts as permanent. */
const TYPE = "UNSUPPORTED_VERSION";

/** Thrown if the broker does not accept any version of a request that can be sent. */
export class NoCommonVersionError extends Error {
  override readonly name = "NoCommonVersionError";
  readonly type = TYPE;
}

/** Null if there is no common version. @param accepted undefined if the broker does not support the request. */
export function highestCommon(
  versions: readonly number[],
  accepted: AcceptedVersions | undefined,
): number | null {
  if (accepted === undefined) return null;
  const { minVersion, maxVersion } = accepted;
  const common = versions.filter((version) => minVersion <= version && version <= maxVersion);
  return common.length === 0 ? null : Math.max(...common);
}

/**
 * @param broker for the error: `host:port`, or null if unknown.
 * @throws NoCommonVersionError
 */
export function commonVersion(
  kind: RequestKind,
  accepted: AcceptedVersions | undefined,
  broker: string | null,
): number {
  const version = highestCommon(kind.versions, accepted);
  if (version === null) throw new NoCommonVersionError(rejectionText(kind, accepted, broker));
  return version;
}

function rejectionText(
  { apiName, versions }: RequestKind,
  accepted: AcceptedVersions | undefined,
  broker: string | null,
): string {
  const who = broker === null ? "The broker" : `The broker ${broker}`;
  const ours = rangeText(Math.min(...versions), Math.max(...versions));
  if (accepted === undefined) {
    return `${who} does not support the request ${apiName}, which Switchyard can send in ${ours}. Upgrade the broker: its Kafka is too old.`;
  }
  const { minVersion, maxVersion } = accepted;
  const theirs = rangeText(minVersion, maxVersion);
  const advice =
    minVersion > Math.max(...versions)
      ? "Upgrade Switchyard: the broker's Kafka is too new for it."
      : "Upgrade the broker: its Kafka is too old.";
  return `${who} accepts ${theirs} of the request ${apiName}, but Switchyard can send only ${ours}. ${advice}`;
}

function rangeText(min: number, max: number): string {
  return min === max ? `version ${min}` : `versions ${min} to ${max}`;
}
