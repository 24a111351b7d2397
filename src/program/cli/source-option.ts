/**
 * The option `--source` of commands that read calls from JSON lines. It is needed because lines have no `source-id`
 * header.
 */

import { Option } from "commander";
import { WrongUsage } from "../../base/words/wrong-usage.ts";
import type { Source } from "../../domain/destination.ts";
import type { RecordHeaders } from "../../domain/record.ts";
import { SOURCE_HEADER } from "../../domain/source-of.ts";

export interface SourceOption {
  readonly source?: string;
}

export function sourceOption(): Option {
  return new Option("--source <id>", "ID of the source of the calls, as in the source-id header");
}

/**
 * Returns the headers for the records that are created from the lines.
 *
 * @param id if undefined, each call must name its source, unless there is a default source.
 * @throws WrongUsage if no source has the ID.
 */
export function sourceHeaders(id: string | undefined, sources: readonly Source[]): RecordHeaders {
  if (id === undefined) return [];
  if (!sources.some((source) => source.id === id)) {
    const known = sources.map((source) => source.id).join(", ");
    throw new WrongUsage(`no source has the ID "${id}". Configured sources: ${known || "none"}.`);
  }
  return [[SOURCE_HEADER, Buffer.from(id)]];
}
