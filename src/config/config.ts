/** The configuration as the program uses it: complete, checked, with units. */

import type { ValueOf } from "../base/settings/setting.ts";
import type { SETTINGS } from "./settings.ts";

export type Config = ValueOf<typeof SETTINGS>;
