/**
 * The destinations at which each line of `examples/calls.jsonl` must arrive, written by hand from the
 * rules in docs/how-it-works.md#routing. Source `web` is connected to all three.
 */

export interface ExpectedCall {
  readonly messageId: string;
  readonly destinations: readonly string[];
  /** True if the call results from the audience, and not from a line of the file. */
  readonly isOfAudience?: true;
}

const CRM = "crm-hook"; // Webhooks
const ENGAGEMENT = "flaky-hook"; // Engagement
const WAREHOUSE = "warehouse"; // Warehouse
const ALL = [CRM, ENGAGEMENT, WAREHOUSE];

export const EXPECTED_CALLS: readonly ExpectedCall[] = [
  { messageId: "visit-pricing", destinations: ALL },
  { messageId: "sign-up-alias", destinations: ALL },
  { messageId: "sign-up-identify", destinations: ALL },
  // All: true, Warehouse: false
  { messageId: "sign-up-track", destinations: [CRM, ENGAGEMENT] },
  { messageId: "join-company", destinations: ALL },
  // Engagement: false
  { messageId: "app-checkout", destinations: [CRM, WAREHOUSE] },
  // All: false, Webhooks: true, Warehouse: true
  { messageId: "order-5021", destinations: [CRM, WAREHOUSE] },
  // all: false, Engagement: an object of options
  { messageId: "newsletter-click", destinations: [ENGAGEMENT] },
  // All: false
  { messageId: "debug-only", destinations: [] },
  // Integrations, as some Go clients spell it, with Webhooks: false
  { messageId: "import-2019", destinations: [ENGAGEMENT, WAREHOUSE] },
  { messageId: "visit-blocks", destinations: ALL },
  // The audience, whose configuration says All: false, Webhooks: true. The ids are UUIDs of version 5
  // of ["trial", 0, user, sync, value]: ana and ben enter, cleo enters, ana leaves.
  { messageId: "9c449d51-0599-50eb-9465-2cffce409b02", destinations: [CRM], isOfAudience: true },
  { messageId: "2d436523-df85-50ea-9791-393ac0d6bb45", destinations: [CRM], isOfAudience: true },
  { messageId: "f3ed0b15-fbcd-5f30-845b-3a9e10adbae9", destinations: [CRM], isOfAudience: true },
  { messageId: "d21f06a3-8f43-548e-b0f2-048703d61bab", destinations: [CRM], isOfAudience: true },
];

/** The reasons of the expected dead letters: line 8 is a purchase, which is not a call. */
export const EXPECTED_DEAD_LETTERS: readonly string[] = ["invalid-call"];
