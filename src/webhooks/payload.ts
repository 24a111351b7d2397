/**
 * The bodies of webhooks, one type for each of the seven.
 *
 *   type       fields
 *   page       version, type, userId, properties, timestamp
 *   screen     version, type, userId, name, timestamp, context
 *   identify   version, type, userId, traits, timestamp
 *   track      version, type, userId, event, properties, timestamp
 *   alias      version, type, `Previous ID`, `User ID`, timestamp
 *   group      version, type, groupId, userId, traits, timestamp
 *   delete     type, userId, timestamp
 *
 * A call without userId has anonymousId in its place. A destination set to `payload: full` adds the
 * fields of `FullFields`. Timestamps are ISO 8601, UTC, with milliseconds.
 */

export type JsonObject = Readonly<Record<string, unknown>>;

/** The caller. With `payload: full` a user's call may have an anonymousId too. */
export type PayloadCaller =
  | { readonly userId: string; readonly anonymousId?: string }
  | { readonly anonymousId: string; readonly userId?: undefined };

/** There only with `payload: full`, and then only what the call had. */
export interface FullFields {
  readonly properties?: JsonObject;
  readonly traits?: JsonObject;
  readonly messageId?: string;
  readonly category?: string;
  readonly name?: string;
  readonly groupId?: string;
  readonly previousId?: string;
  readonly context?: JsonObject;
  readonly integrations?: JsonObject;
  readonly originalTimestamp?: string;
  readonly sentAt?: string;
  readonly receivedAt?: string;
}

interface Versioned {
  readonly version: 1;
  readonly timestamp: string;
}

export type PagePayload = Versioned &
  PayloadCaller &
  FullFields & { readonly type: "page"; readonly properties: JsonObject };

export type ScreenPayload = Versioned &
  PayloadCaller &
  FullFields & { readonly type: "screen"; readonly context: JsonObject };

export type IdentifyPayload = Versioned &
  PayloadCaller &
  FullFields & { readonly type: "identify"; readonly traits: JsonObject };

export type TrackPayload = Versioned &
  PayloadCaller &
  FullFields & {
    readonly type: "track";
    readonly event: string;
    readonly properties: JsonObject;
  };

export type GroupPayload = Versioned &
  PayloadCaller &
  FullFields & { readonly type: "group"; readonly groupId: string; readonly traits: JsonObject };

export type AliasPayload = Versioned &
  FullFields & {
    readonly type: "alias";
    readonly "Previous ID": string;
    readonly "User ID": string;
    readonly anonymousId?: string;
  };

/** Everything about the user is to be deleted. */
export interface DeletePayload {
  readonly type: "delete";
  readonly userId: string;
  readonly timestamp: string;
  readonly messageId?: string;
  readonly receivedAt?: string;
}

export type Payload =
  | PagePayload
  | ScreenPayload
  | IdentifyPayload
  | TrackPayload
  | AliasPayload
  | GroupPayload
  | DeletePayload;
