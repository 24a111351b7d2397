/**
 * `switchyard-sdk/webhooks`: functions for receivers of webhooks.
 *
 *   verify           whether `X-Signature` was made with the shared secret; call it first
 *   verifyStandard   the same for the headers of Standard Webhooks, which also bind the time
 *   parsePayload     the body, typed; it checks the shape, not the sender
 */

export type {
  AliasPayload,
  DeletePayload,
  FullFields,
  GroupPayload,
  IdentifyPayload,
  JsonObject,
  PagePayload,
  Payload,
  PayloadCaller,
  ScreenPayload,
  TrackPayload,
} from "./payload.ts";
export { PayloadError, parsePayload } from "./payload.ts";
export {
  type RawBody,
  type RequestHeaders,
  type Secrets,
  type StandardOptions,
  verify,
  verifyStandard,
} from "./verify.ts";
