/**
 * `switchyard-sdk/webhooks`: functions for receivers of webhooks.
 *
 *   verify           checks that `X-Signature` was made with the shared secret; call this first
 *   verifyStandard   does the same for the headers of Standard Webhooks, which also include the time
 *   parsePayload     returns the body, typed; checks its shape, not its sender
 *   parsePayloads    returns the bodies of a batch, or of a single request
 *   messageIds       returns the message IDs of these calls, if the destination sends them
 *   eachResponse     creates a response with the result of each call of a batch, for `responses: each`
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
