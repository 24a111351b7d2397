/** `--source`, for commands that read calls from lines: lines have no header that names their source. */

import { Option } from "commander";

import type { Source } from "../domain/destination.ts";
import type { RecordHeaders } from "../domain/record.ts";
import { SOURCE_HEADER } from "../domain/source-of.ts";
import { WrongUsage } from "../words/wrong-usage.ts";

export interface SourceOption {
  readonly source?: string;
}

export function sourceOption(): Option {
  return new Option("--source <id>", "the source of the calls, as the header source-id names it");
}

/**
 * Headers of the record that a line becomes.
 *
 * @param id if it is undefined, the calls name their source, or the default source applies.
 * @throws WrongUsage if no source has the ID.
 */
export function sourceHeaders(id: string | undefined, sources: readonly Source[]): RecordHeaders {
  if (id === undefined) return [];
  if (!sources.some((source) => source.id === id)) {
    const known = sources.map((source) => source.id).join(", ");
    throw new WrongUsage(`no source has the id "${id}". Configured: ${known || "none"}.`);
  }
  return [[SOURCE_HEADER, Buffer.from(id)]];
}
