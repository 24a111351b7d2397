/**
 * Finds out which of a topic's settings a cluster allows. Managed clusters reject some settings by a policy, and each
 * cluster has different error messages. So several requests are sent that only validate settings:
 *
 *   the cluster rejects                       then
 *   the settings                              as few settings as possible are omitted
 *   `max.message.bytes` among them            the largest allowed value is searched for, in steps of
 *                                             1 KiB, above the topic's value without the setting
 *   any part of the settings                  the largest allowed value of `max.message.bytes` below the
 *                                             planned one is searched for; the other settings stay
 *   that, too                                 nothing is allowed
 */

import type { RejectedSetting } from "../port.ts";

export type TopicConfig = Readonly<Record<string, string>>;

/** Returns the cluster's reason for rejecting these settings, or null if they are allowed. Changes nothing. */
type TryConfig = (config: TopicConfig) => Promise<string | null>;

interface Allowed {
  readonly config: TopicConfig;
  readonly rejected: readonly Omit<RejectedSetting, "topic">[];
}

const SIZE = "max.message.bytes";
const STEP_BYTES = 1_024;
/** The smallest value that is tried. */
const LEAST_BYTES = 64 * 1_024;
/** Kafka's own default is slightly larger. */
const DEFAULT_BYTES = 1_048_576;

const REFUSALS: ReadonlySet<string> = new Set([
  "INVALID_CONFIG",
  "INVALID_REQUEST",
  "POLICY_VIOLATION",
]);

/** `true` if the error means that other settings might be allowed. @param type Kafka's name of the error. */
export function isRejection(type: string): boolean {
  return REFUSALS.has(type);
}

/**
 * @param config the rejected settings.
 * @param reason the cluster's reason for rejecting all of them together.
 * @param otherwiseBytes the topic's `max.message.bytes` if `config` does not set it.
 * @returns null if nothing is allowed.
 */
export async function allowedConfig(
  config: TopicConfig,
  reason: string,
  tryConfig: TryConfig,
  otherwiseBytes = DEFAULT_BYTES,
): Promise<Allowed | null> {
  const planned = Number(config[SIZE] ?? 0);
  for (const omitted of subsets(Object.keys(config))) {
    let allowed = without(config, omitted);
    if ((await tryConfig(allowed)) !== null) continue;
    if (omitted.includes(SIZE)) {
      const most = await largest(otherwiseBytes, planned, (size) =>
        tryConfig({ ...allowed, ...size }),
      );
      allowed = { ...allowed, ...most };
    }
    return {
      config: allowed,
      rejected: await rejectedOf(config, allowed, omitted, reason, tryConfig),
    };
  }
  const most = await largest(LEAST_BYTES, planned, (size) => tryConfig({ ...config, ...size }));
  const instead = most?.[SIZE];
  if (instead === undefined) return null;
  const rejected = [{ setting: SIZE, planned: `${planned}`, instead, error: reason }];
  return { config: { ...config, ...most }, rejected };
}

async function rejectedOf(
  config: TopicConfig,
  allowed: TopicConfig,
  omitted: readonly string[],
  reason: string,
  tryConfig: TryConfig,
): Promise<Allowed["rejected"]> {
  const rejected = [];
  for (const setting of omitted) {
    const planned = config[setting] ?? "";
    // If several settings were omitted, the cluster's reason may be about only one of them.
    const own = omitted.length === 1 ? null : await tryConfig({ ...allowed, [setting]: planned });
    rejected.push({ setting, planned, instead: allowed[setting] ?? null, error: own ?? reason });
  }
  return rejected;
}

/** The largest allowed size above `least` and below `rejected`; null if there is none. */
async function largest(
  least: number,
  rejected: number,
  tryConfig: TryConfig,
): Promise<{ readonly [SIZE]: string } | null> {
  let low = Math.floor(least / STEP_BYTES);
  let high = Math.ceil(rejected / STEP_BYTES);
  let found = null;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const size = { [SIZE]: `${middle * STEP_BYTES}` } as const;
    if ((await tryConfig(size)) === null) {
      low = middle;
      found = size;
    } else {
      high = middle;
    }
  }
  return found;
}

/** All non-empty subsets, the smallest first; among subsets of the same size, those with `max.message.bytes` first. */
function subsets(keys: readonly string[]): readonly (readonly string[])[] {
  const sorted = [...keys].sort((one, other) => Number(other === SIZE) - Number(one === SIZE));
  const all: string[][] = [[]];
  for (const key of sorted) all.push(...all.map((subset) => [...subset, key]));
  return all.slice(1).sort((one, other) => one.length - other.length);
}

function without(config: TopicConfig, keys: readonly string[]): TopicConfig {
  return Object.fromEntries(Object.entries(config).filter(([key]) => !keys.includes(key)));
}

/**
 * Applies the result for one rejected topic to another topic. Most topics have the same settings.
 *
 * @param rejected the result for the first topic.
 */
export function likewise(
  config: TopicConfig,
  rejected: Allowed["rejected"],
  error: string,
): Allowed {
  const changes = rejected.flatMap((found) => {
    const planned = config[found.setting];
    if (planned === undefined) return [];
    const most = found.setting === SIZE ? Number(found.instead ?? DEFAULT_BYTES) : null;
    const isAlike = most === null ? planned === found.planned : Number(planned) > most;
    return isAlike ? [{ ...found, planned, error }] : [];
  });
  const kept = without(
    config,
    changes.map(({ setting }) => setting),
  );
  const set = changes.flatMap(({ setting, instead }) =>
    instead === null ? [] : [[setting, instead]],
  );
  return { config: { ...kept, ...Object.fromEntries(set) }, rejected: changes };
}
