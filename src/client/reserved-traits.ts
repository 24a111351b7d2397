/**
 * Names of traits with a meaning that many destinations know. Their types are checked, own names
 * may stand beside them, and none is needed. The library sends all of them as they are.
 */

/** Reserved names with their types, and own ones: of a literal, or of an interface of yours. */
type With<Reserved> = (Reserved & { readonly [name: string]: unknown }) | (object & Reserved);

export interface Address {
  readonly city?: string | null | undefined;
  readonly country?: string | null | undefined;
  readonly postalCode?: string | null | undefined;
  readonly state?: string | null | undefined;
  readonly street?: string | null | undefined;
}

export interface ReservedUserTraits {
  readonly address?: With<Address> | string | null | undefined;
  /** In years. */
  readonly age?: number | null | undefined;
  /** URL of a picture. */
  readonly avatar?: string | null | undefined;
  readonly birthday?: Date | string | null | undefined;
  readonly company?: object | string | null | undefined;
  /** When the account was made: a Date, or ISO 8601. */
  readonly createdAt?: Date | string | number | null | undefined;
  readonly description?: string | null | undefined;
  readonly email?: string | null | undefined;
  readonly firstName?: string | null | undefined;
  readonly gender?: string | null | undefined;
  readonly id?: string | number | null | undefined;
  readonly lastName?: string | null | undefined;
  /** The whole name. */
  readonly name?: string | null | undefined;
  readonly phone?: string | number | null | undefined;
  /** Such as "VP of Engineering". */
  readonly title?: string | null | undefined;
  readonly username?: string | null | undefined;
  readonly website?: string | null | undefined;
}

export interface ReservedGroupTraits {
  readonly address?: With<Address> | string | null | undefined;
  /** URL of a logo. */
  readonly avatar?: string | null | undefined;
  /** When the group was made: a Date, or ISO 8601. */
  readonly createdAt?: Date | string | number | null | undefined;
  readonly description?: string | null | undefined;
  readonly email?: string | null | undefined;
  /** How many there are; some send a range as text. */
  readonly employees?: number | string | null | undefined;
  readonly id?: string | number | null | undefined;
  readonly industry?: string | null | undefined;
  readonly name?: string | null | undefined;
  readonly phone?: string | number | null | undefined;
  /** Such as "enterprise". */
  readonly plan?: string | null | undefined;
  readonly website?: string | null | undefined;
}

export type UserTraits = With<ReservedUserTraits>;
export type GroupTraits = With<ReservedGroupTraits>;
