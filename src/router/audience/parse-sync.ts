/**
 * Reads a record of `audience-syncs` (docs/audiences.md#records).
 *
 *   type       fields
 *   begin      audienceId, audienceName, syncId
 *   members    audienceId, syncId, userIds
 *   end        audienceId, syncId, count; force
 *   snapshot   audienceId, audienceName, syncId, userIds; force
 *   approve    audienceId, syncId
 *   delete     audienceId
 *   trait      traitName, userId, value (any JSON; null removes the trait)
 *   forget     userId (written by the deletion stage)
 *
 *   a field                     is read as
 *   audienceId, syncId, userId  a string of 1 byte to 1 KiB; a finite number becomes a string
 *   userIds                     a list of such IDs
 *   audienceName, traitName     a string of 1 byte to 1 KiB with at least one letter or digit
 *   count                       an integer of at least 0
 *   force                       true; anything else counts as absent
 *
 * If a field is invalid, the whole record is rejected as `invalid-sync`. If only a part of a `members` record were
 * used, the sync would end with a count mismatch. IDs with lone surrogates are rejected, because two such IDs can be
 * equal in UTF-8.
 */

import {
  describe,
  isJsonObject,
  JSON_DEPTH_MAX,
  type JsonObject,
  kindOf,
  nestsDeeperThan,
} from "../../domain/json.ts";
import { snakeCase } from "./snake-case.ts";

const ID_MAX_BYTES = 1_024;

interface OfSync {
  readonly audienceId: string;
  readonly syncId: string;
}

export interface Begin extends OfSync {
  readonly type: "begin";
  readonly audienceName: string;
}

export interface Members extends OfSync {
  readonly type: "members";
  readonly userIds: readonly string[];
}

export interface End extends OfSync {
  readonly type: "end";
  readonly count: number;
  readonly force: boolean;
}

export interface Snapshot extends OfSync {
  readonly type: "snapshot";
  readonly audienceName: string;
  readonly userIds: readonly string[];
  readonly force: boolean;
}

export interface Approval extends OfSync {
  readonly type: "approve";
}

export interface Delete {
  readonly type: "delete";
  readonly audienceId: string;
}

export interface Trait {
  readonly type: "trait";
  /** The name in snake_case. */
  readonly key: string;
  readonly userId: string;
  readonly value: unknown;
}

export interface Forget {
  readonly type: "forget";
  readonly userId: string;
}

export type AudienceRecord = Begin | Members | End | Snapshot | Approval | Delete;
export type SyncRecord = AudienceRecord | Trait | Forget;

export type ParsedSync =
  | { readonly kind: "sync"; readonly record: SyncRecord }
  /** `error` is a sentence. It quotes the type if that is a short word, and nothing else of the value. */
  | { readonly kind: "refused"; readonly reason: "invalid-sync"; readonly error: string };

const TYPES = [
  "begin",
  "members",
  "end",
  "snapshot",
  "approve",
  "delete",
  "trait",
  "forget",
] as const satisfies readonly SyncRecord["type"][];

/** @param json the result of `JSON.parse`. */
export function parseSync(json: unknown): ParsedSync {
  if (!isJsonObject(json))
    return refused(`a sync record must be a JSON object, but this is ${kindOf(json)}`);
  const type = TYPES.find((known) => known === json.type);
  if (type === undefined) {
    return refused(`type is ${describe(json.type)}, expected one of ${TYPES.join(", ")}`);
  }
  const fields = new SyncFields(json);
  const record = read(type, fields);
  return fields.problem === null ? { kind: "sync", record } : refused(fields.problem);
}

function read(type: SyncRecord["type"], fields: SyncFields): SyncRecord {
  switch (type) {
    case "begin":
      return { type, ...ofSync(fields), audienceName: fields.name("audienceName") };
    case "members":
      return { type, ...ofSync(fields), userIds: fields.ids("userIds") };
    case "end":
      return { type, ...ofSync(fields), count: fields.count("count"), force: fields.force() };
    case "snapshot": {
      const audienceName = fields.name("audienceName");
      const userIds = fields.ids("userIds");
      return { type, ...ofSync(fields), audienceName, userIds, force: fields.force() };
    }
    case "approve":
      return { type, ...ofSync(fields) };
    case "delete":
      return { type, audienceId: fields.id("audienceId") };
    case "trait": {
      const key = snakeCase(fields.name("traitName"));
      return { type, key, userId: fields.id("userId"), value: fields.value("value") };
    }
    case "forget":
      return { type, userId: fields.id("userId") };
  }
}

function ofSync(fields: SyncFields): OfSync {
  return { audienceId: fields.id("audienceId"), syncId: fields.id("syncId") };
}

/** Reads fields, and keeps the first problem. After a problem, the fields that were read must not be used. */
class SyncFields {
  problem: string | null = null;
  readonly #json: JsonObject;

  constructor(json: JsonObject) {
    this.#json = json;
  }

  id(name: string): string {
    return this.#checkedId(name, this.#own(name));
  }

  ids(name: string): readonly string[] {
    const given = this.#own(name);
    if (!Array.isArray(given)) return this.#fail(name, given, "a list of user IDs", []);
    const ids: string[] = [];
    for (let index = 0; index < given.length && this.problem === null; index += 1) {
      ids.push(this.#checkedId(`${name}[${index}]`, given[index] as unknown));
    }
    return ids;
  }

  name(name: string): string {
    const given = this.#own(name);
    if (typeof given !== "string" || given === "") {
      return this.#fail(name, given, "text", "");
    }
    if (Buffer.byteLength(given) > ID_MAX_BYTES) return this.#tooLong(name);
    if (snakeCase(given) === "") {
      this.problem ??= `${name} needs at least one letter or digit for the name of the trait`;
    }
    return given;
  }

  count(name: string): number {
    const given = this.#own(name);
    if (typeof given === "number" && Number.isSafeInteger(given) && given >= 0) return given;
    return this.#fail(name, given, "an integer of at least 0", 0);
  }

  force(): boolean {
    return this.#own("force") === true;
  }

  value(name: string): unknown {
    const given = this.#own(name);
    if (given === undefined)
      return this.#fail(name, given, "any JSON value, or null to remove the trait", null);
    if (nestsDeeperThan(JSON_DEPTH_MAX, given)) {
      this.problem ??= `${name} nests more than ${JSON_DEPTH_MAX} levels deep`;
    }
    return given;
  }

  #own(name: string): unknown {
    return Object.hasOwn(this.#json, name) ? this.#json[name] : undefined;
  }

  #checkedId(name: string, given: unknown): string {
    const id = typeof given === "number" && Number.isFinite(given) ? `${given}` : given;
    if (typeof id !== "string" || id === "")
      return this.#fail(name, given, "a string or a number", "");
    // A UTF-16 code unit takes at most three bytes in UTF-8.
    if (id.length * 3 > ID_MAX_BYTES && Buffer.byteLength(id) > ID_MAX_BYTES) {
      return this.#tooLong(name);
    }
    if (!id.isWellFormed()) this.problem ??= `${name} contains half of a surrogate pair`;
    return id;
  }

  #tooLong(name: string): string {
    this.problem ??= `${name} has more than ${ID_MAX_BYTES} bytes`;
    return "";
  }

  #fail<Value>(name: string, given: unknown, expected: string, instead: Value): Value {
    this.problem ??= `${name} is ${kindOf(given)}, expected ${expected}`;
    return instead;
  }
}

function refused(error: string): ParsedSync {
  return { kind: "refused", reason: "invalid-sync", error };
}
