/** `switchyard/client`: what applications import. */

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
  ValidationError,
} from "./client-error.ts";
export { type CloseOnExitOptions, closeOnExit } from "./close-on-exit.ts";
export type { Fetch, FetchAnswer } from "./fetch.ts";
export type { AnalyticsOptions } from "./options.ts";
