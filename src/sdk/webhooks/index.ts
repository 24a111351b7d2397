/**
 * `switchyard-sdk/webhooks`: functions for receivers of webhooks.
 *
 *   verify           whether `X-Signature` was made with the shared secret; call it first
 *   verifyStandard   the same for the headers of Standard Webhooks, which also bind the time
 *   parsePayload     the body, typed; it checks the shape, not the sender
 *   parsePayloads    the bodies of a batch, or of a single request
 *   messageIds       the message IDs of these calls, if the destination sends them
 *   eachResponse     a response that judges each call of a batch, for `responses: each`
 */

export { type CallStatus, eachResponse, messageIds, parsePayloads } from "./batch.ts";
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
