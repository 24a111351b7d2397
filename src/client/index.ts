/** `switchyard/client`: imported by applications. */

export type { Acknowledgement } from "./acknowledgement.ts";
export { Analytics } from "./analytics.ts";
export type {
  AliasCall,
  Caller,
  CallType,
  Common,
  Fields,
  GroupCall,
  Id,
  IdentifyCall,
  PageCall,
  PageProperties,
  ScreenCall,
  TrackCall,
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
export type { Fetch, FetchAnswer } from "./fetch.ts";
export type { AnalyticsOptions } from "./options.ts";
export type {
  Address,
  GroupTraits,
  ReservedGroupTraits,
  ReservedUserTraits,
  UserTraits,
} from "./reserved-traits.ts";
