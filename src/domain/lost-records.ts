/** Records that were deleted before they were processed, with their topic or because of its retention. */

export interface LostRecords {
  readonly topic: string;
  /** At most this number; 0 if the number is unknown. */
  readonly records: number;
}

/** For how long a loss is shown: until an operator can be expected to have seen it. */
export const LOST_SHOWN_MS = 86_400_000;

/** What was lost, and how to send it again. @param destination empty if the topic does not belong to a destination. */
export function lostText({ topic, records }: LostRecords, destination: string): string {
  const count = records === 0 ? "An unknown number of" : `At most ${records.toLocaleString("en")}`;
  return `${count} records of ${topic} were deleted before they were processed. ${lostFix(destination)}`;
}

export function lostFix(destination: string): string {
  return destination === ""
    ? "See docs/troubleshooting.md#switchyardrecordslost."
    : `To send the calls again, run \`switchyard replay ${destination} --since <time>\`.`;
}
