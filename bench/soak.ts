/**
 * `npm run soak [-- ATTEMPTS]`: makes attempts that fail in every possible way, 200,000 by default. Prints the memory
 * use. Exits with 1 if memory has grown or sockets are still open.
 */

import { type SoakSample, soak } from "../test/support/servers/soak.ts";

const IN_FLIGHT = 64;
const SAMPLES = 10;
/** Normal variation of a collected heap. A leak of a kilobyte per attempt would be 180 MB. */
const GROWTH_MAX_BYTES = 8 * 1_024 * 1_024;

const attempts = Number(process.argv[2] ?? 200_000);
if (!Number.isInteger(attempts) || attempts < SAMPLES) {
  throw new Error(`${process.argv[2]} is no number of attempts: a whole number from ${SAMPLES}`);
}
const { samples, outcomes, openSockets } = await soak(attempts, IN_FLIGHT, SAMPLES);
const mib = (bytes: number) => (bytes / 1_024 / 1_024).toFixed(1).padStart(9);
const row = ({ attempts: made, usedBytes, residentBytes }: SoakSample) =>
  `${String(made).padStart(9)} ${mib(usedBytes)} ${mib(residentBytes)}`;
const growth = (samples.at(-1)?.usedBytes ?? 0) - (samples[0]?.usedBytes ?? 0);
process.stdout.write(
  [
    " attempts  used MiB   RSS MiB",
    ...samples.map(row),
    "",
    `outcomes: ${JSON.stringify(outcomes)}`,
    `growth of used memory from the first to the last line: ${mib(growth).trim()} MiB`,
    `sockets left open: ${openSockets}`,
    "",
  ].join("\n"),
);
if (growth > GROWTH_MAX_BYTES || openSockets > 0) process.exitCode = 1;
