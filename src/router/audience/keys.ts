/**
 * The keys in the local store and in the changelog. Offsets in keys are own offsets (`own-offsets.ts`). They are
 * written in base 36 and padded, so that the keys of an audience are adjacent, in the order of user IDs.
 *
 *   key                            value                                         in the changelog
 *   m<first>/<user id>             membership (`membership.ts`)                  yes, without marks, numbers
 *   a/<audience id>                the audience, JSON                            yes
 *   r<first>/<slot>                digest of the ID of a sync that has ended     yes
 *   s<first>/<digest>              nothing: the digest can be looked up          no
 *   n<first>                       the audience's counts, JSON                   no
 *   b<first>/<begin>/<entry>       numbers that arrived in an open sync          no
 *   t<length>/<user id>/<trait>    the trait's last value (`apply-user.ts`)     yes
 *   p                              offset up to which all records are applied    yes
 *   o                              the origin of own offsets, JSON                yes
 *   i                              identity of the changelog                     yes
 *   c                              the checkpoint, JSON                          no
 */

import { createHash } from "node:crypto";

export const CHECKPOINT_KEY = "c";
export const APPLIED_KEY = "p";
export const IDENTITY_KEY = "i";
export const ORIGIN_KEY = "o";
/** For each audience, the IDs of this many ended syncs are stored. */
export const REMEMBERED_MAX = 1_000;

const OFFSET_DIGITS = 11;

export interface KeyRange {
  readonly from: string;
  /** The first key after the range. */
  readonly to: string;
}

function padded(offset: number): string {
  return offset.toString(36).padStart(OFFSET_DIGITS, "0");
}

export function memberPrefix(first: number): string {
  return `m${padded(first)}/`;
}

export function firstOf(memberKey: string): number {
  return Number.parseInt(memberKey.slice(1, 1 + OFFSET_DIGITS), 36);
}

export function userOf(memberKey: string): string {
  return memberKey.slice(OFFSET_DIGITS + 2);
}

/** The range of all keys that start with the prefix and "/". The upper end is "0", the character after "/". */
function below(prefix: string): KeyRange {
  return { from: prefix, to: `${prefix.slice(0, -1)}0` };
}

export function membersRange(first: number): KeyRange {
  return below(memberPrefix(first));
}

export function audienceKey(id: string): string {
  return `a/${id}`;
}

export const AUDIENCES_RANGE: KeyRange = below("a/");

export function countsKey(first: number): string {
  return `n${padded(first)}`;
}

export function arrivalsKey(first: number, begin: number, entry: number): string {
  return `b${padded(first)}/${padded(begin)}/${padded(entry)}`;
}

export function arrivalsRange(first: number): KeyRange {
  return below(`b${padded(first)}/`);
}

/** The range of the arrivals of all audiences. */
export const ARRIVALS_RANGE: KeyRange = { from: "b", to: "c" };

export function arrivalsIn(key: string): { first: number; begin: number; entry: number } {
  const [first = "", begin = "", entry = ""] = key.slice(1).split("/");
  const read = (text: string) => Number.parseInt(text, 36);
  return { first: read(first), begin: read(begin), entry: read(entry) };
}

export function slotKey(first: number, slot: number): string {
  return `r${padded(first)}/${slot.toString(36)}`;
}

export function slotsRange(first: number): KeyRange {
  return below(`r${padded(first)}/`);
}

export function rememberedKey(first: number, digest: string): string {
  return `s${padded(first)}/${digest}`;
}

/** The `s` key that belongs to an `r` key. */
export function rememberedKeyOf(slot: string, digest: string): string {
  return `s${slot.slice(1, 1 + OFFSET_DIGITS)}/${digest}`;
}

/** Returns a digest of a sync ID, because IDs can be long. Its 96 bits are enough to distinguish a thousand IDs. */
export function digestOf(syncId: string): string {
  return createHash("sha256").update(syncId).digest("base64url").slice(0, 16);
}

export function traitKey(userId: string, trait: string): string {
  return `t${userId.length.toString(36)}/${userId}/${trait}`;
}

export function traitsRange(userId: string): KeyRange {
  return below(`t${userId.length.toString(36)}/${userId}/`);
}
