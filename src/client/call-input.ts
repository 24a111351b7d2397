/**
 * The calls as applications hand them in (SPEC section 10). `validate.ts` holds the same rules at
 * run time, for callers without types.
 *
 *   method     needs                                       takes besides
 *   identify   userId or anonymousId                       traits
 *   track      userId or anonymousId, event                properties
 *   page       userId or anonymousId                       name, category, properties (or traits)
 *   screen     userId or anonymousId                       name, category, properties
 *   group      userId or anonymousId, groupId              traits
 *   alias      userId (the new id), previousId
 *   all        -                                           context, integrations, timestamp,
 *                                                          messageId
 *
 * Undefined, null and empty text count as absent. Objects are sent as `JSON.stringify` writes them
 * at the moment of the call; changing them later changes nothing.
 */

export type CallType = "identify" | "track" | "page" | "screen" | "group" | "alias";

/** Text that is not empty; a finite number becomes text. */
export type Id = string | number;

/** A plain object, or one whose `toJSON` gives a plain object. */
export type Fields = object;

/** Whose call it is: a user, or somebody who has no user id yet. */
export type Caller =
  | { readonly userId: Id; readonly anonymousId?: Id | null | undefined }
  | { readonly userId?: Id | null | undefined; readonly anonymousId: Id };

export interface Common {
  /** What surrounds the call: `ip`, `userAgent`, `locale`, ... `library` is filled in. */
  readonly context?: Fields | null | undefined;
  /** Integration name to whether it gets the call; `All` speaks for those not named. */
  readonly integrations?: Readonly<Record<string, boolean | object>> | null | undefined;
  /**
   * When it happened, for the import of historical calls; without it the server times the call.
   * A Date, an ISO 8601 text, or milliseconds since the epoch.
   */
  readonly timestamp?: Date | string | number | null | undefined;
  /** At most 100 characters; a random UUID where absent. */
  readonly messageId?: string | number | null | undefined;
}

/** Who a user is. Once when the account is made, and again only when traits change. */
export type IdentifyCall = Caller & Common & { readonly traits?: Fields | null | undefined };

/** What a user did. */
export type TrackCall = Caller &
  Common & { readonly event: string; readonly properties?: Fields | null | undefined };

export interface PageProperties {
  readonly url?: string | undefined;
  readonly title?: string | undefined;
  readonly referrer?: string | undefined;
  readonly path?: string | undefined;
  readonly [name: string]: unknown;
}

/** Which page a user saw. With both, `properties` wins over `traits`, key by key. */
export type PageCall = Caller &
  Common & {
    readonly name?: string | null | undefined;
    readonly category?: string | null | undefined;
    readonly properties?: PageProperties | Fields | null | undefined;
    /** The name that the older Go library has for a page's properties. */
    readonly traits?: PageProperties | Fields | null | undefined;
  };

/** Which screen of an app a user saw. */
export type ScreenCall = Caller &
  Common & {
    readonly name?: string | null | undefined;
    readonly category?: string | null | undefined;
    readonly properties?: Fields | null | undefined;
  };

/** Which group (company, team, account) an identified user belongs to. */
export type GroupCall = Caller &
  Common & { readonly groupId: Id; readonly traits?: Fields | null | undefined };

/** That two ids are the same user. */
export type AliasCall = Common & { readonly userId: Id; readonly previousId: Id };
