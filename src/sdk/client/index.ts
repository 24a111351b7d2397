/** The exports of `switchyard-sdk/client`, for applications. */

export type { Acknowledgement } from "./analytics.ts";
export { Analytics } from "./analytics.ts";
export type {
  Address,
  AliasCall,
  Caller,
  CallType,
  Common,
  Fields,
  GroupCall,
  GroupTraits,
  Id,
  IdentifyCall,
  PageCall,
  PageProperties,
  ReservedGroupTraits,
  ReservedUserTraits,
  ScreenCall,
  TrackCall,
  UserTraits,
} from "./call-input.ts";
export {
  ClosedError,
  type Loss,
  type LossReason,
  type LostCall,
  LostCallError,
  type SentBatch,
  ValidationError,
} from "./client-error.ts";
export { type CloseOnExitOptions, closeOnExit } from "./close-on-exit.ts";
export type { Fetch, FetchResponse } from "./fetch.ts";
export type { AnalyticsOptions } from "./options.ts";
