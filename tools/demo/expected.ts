/**
 * Which destinations each line of `examples/calls.jsonl` has to arrive at, written by hand from the
 * rules in SPEC section 4. Source `web` is connected to all three.
 */

export interface ExpectedCall {
  readonly messageId: string;
  readonly destinations: readonly string[];
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
];

/** Reasons of the dead letters: line 8 is a purchase, which is no call. */
export const EXPECTED_DEAD_LETTERS: readonly string[] = ["invalid-call"];
