export type CallType = "identify" | "track" | "page" | "screen" | "group" | "alias";

/**
 * A string that is not empty. Numbers up to 2^53 - 1 and bigints become strings; larger numbers are rejected, because
 * JavaScript has rounded them.
 */
export type Id = string | number | bigint;

/** A plain object, or an object whose `toJSON` returns a plain object. */
export type Fields = object;

/** The caller: a user, or somebody who has no user ID yet. */
export type Caller =
  | {
      /** An ID that you choose for somebody who has no user ID yet, such as an ID from a cookie. */
      readonly anonymousId: Id;
      /** The user's ID in your database. Do not use an email address, because it may change. */
      readonly userId?: Id | null | undefined;
    }
  | {
      /** The user's ID in your database. Do not use an email address, because it may change. */
      readonly userId: Id;
      /** The anonymous ID that the user had before the user ID was known. */
      readonly anonymousId?: Id | null | undefined;
    };

export interface Common {
  /**
   * Information about the circumstances of the call, such as `ip`, `userAgent` and `locale`. `library` is added
   * automatically.
   */
  readonly context?: Fields | null | undefined;
  /**
   * For each integration, by its name: a boolean that decides whether the integration gets the call, or options for the
   * integration. `All` applies to all other integrations.
   */
  readonly integrations?: Readonly<Record<string, boolean | object>> | null | undefined;
  /**
   * For historical calls: the time at which the event happened, as a Date, an ISO 8601 string, or seconds or
   * milliseconds since the epoch. If absent, the server sets the time.
   */
  readonly timestamp?: Date | string | number | null | undefined;
  /** At most 100 characters. If absent, a random UUID is used. */
  readonly messageId?: Id | null | undefined;
}

/** Records who a user is: once when the account is created, and again when traits change. */
export type IdentifyCall = {
  /** Facts about the user that are new or have changed. */
  readonly traits?: UserTraits | null | undefined;
} & Common &
  Caller;

/** Records what a user did. */
export type TrackCall = {
  /** The name of the action, such as "Order Completed"; the same for all users. */
  readonly event: string;
  /** Facts about this action, such as `total`. */
  readonly properties?: Fields | null | undefined;
} & Common &
  Caller;

export interface PageProperties {
  /** The whole URL. */
  readonly url?: string | undefined;
  readonly title?: string | undefined;
  /** URL of the previous page. */
  readonly referrer?: string | undefined;
  /** The path of the URL. */
  readonly path?: string | undefined;
  readonly [name: string]: unknown;
}

/**
 * Records which page a user viewed. If both `properties` and `traits` are given, keys in `properties` override those in
 * `traits`.
 */
export type PageCall = {
  /** The name of the page, such as "Pricing". */
  readonly name?: string | null | undefined;
  /** The kind of page, such as "Docs". */
  readonly category?: string | null | undefined;
  /** Facts about the page. */
  readonly properties?: PageProperties | Fields | null | undefined;
  /** Another name for a page's properties, for compatibility with the older Go library. */
  readonly traits?: PageProperties | Fields | null | undefined;
} & Common &
  Caller;

/** Records which screen of an app a user viewed. */
export type ScreenCall = {
  /** The name of the screen, such as "Cart". */
  readonly name?: string | null | undefined;
  /** The kind of screen, such as "Checkout". */
  readonly category?: string | null | undefined;
  /** Facts about the screen. */
  readonly properties?: Fields | null | undefined;
} & Common &
  Caller;

/** Records which group (company, team, account) a user belongs to. */
export type GroupCall = {
  /** The group's ID in your database. */
  readonly groupId: Id;
  /** Facts about the group that are new or have changed. */
  readonly traits?: GroupTraits | null | undefined;
} & Common &
  Caller;

/** Records that two IDs belong to the same user. */
export type AliasCall = {
  /** The user's new ID. */
  readonly userId: Id;
  /** The previous ID: an anonymous ID, or an old user ID. */
  readonly previousId: Id;
} & Common;

/** Accepts reserved names with their types, and any other names. */
type With<Reserved> = (Reserved & { readonly [name: string]: unknown }) | (object & Reserved);

export interface Address {
  readonly city?: string | null | undefined;
  readonly country?: string | null | undefined;
  readonly postalCode?: string | null | undefined;
  readonly state?: string | null | undefined;
  readonly street?: string | null | undefined;
}

interface ReservedTraits {
  readonly address?: With<Address> | string | null | undefined;
  /** URL of a picture or logo. */
  readonly avatar?: string | null | undefined;
  /** Time at which the account or group was created: a Date, or an ISO 8601 string. */
  readonly createdAt?: Date | string | number | null | undefined;
  readonly description?: string | null | undefined;
  readonly email?: string | null | undefined;
  readonly id?: string | number | null | undefined;
  /** The whole name. */
  readonly name?: string | null | undefined;
  readonly phone?: string | number | null | undefined;
  readonly website?: string | null | undefined;
}

/** Traits whose names have the same meaning for many destinations. They are all optional. */
export interface ReservedUserTraits extends ReservedTraits {
  /** In years. */
  readonly age?: number | null | undefined;
  readonly birthday?: Date | string | null | undefined;
  readonly company?: object | string | null | undefined;
  readonly firstName?: string | null | undefined;
  readonly gender?: string | null | undefined;
  readonly lastName?: string | null | undefined;
  /** Such as "VP of Engineering". */
  readonly title?: string | null | undefined;
  readonly username?: string | null | undefined;
}

export interface ReservedGroupTraits extends ReservedTraits {
  /** Number of employees; some applications send a range as a string. */
  readonly employees?: number | string | null | undefined;
  readonly industry?: string | null | undefined;
  /** Such as "enterprise". */
  readonly plan?: string | null | undefined;
}

export type UserTraits = With<ReservedUserTraits>;
export type GroupTraits = With<ReservedGroupTraits>;
