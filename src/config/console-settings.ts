/**
 * The section `console`: the page for people, where a process serves it.
 *
 *   it listens on                        a token is
 *   127.0.0.1, ::1, localhost            asked for where one is set
 *   any other address                    required
 */

import { ADMIN_ADDRESS } from "../domain/addresses.ts";
import type { Invalid, Place } from "./config-path.ts";
import type { Decoder } from "./decoder.ts";
import { hidden, value, wrong } from "./decoder.ts";
import { CONSOLE_PORT } from "./ports.ts";
import { flag, listenHost, listOf, text, textLike, wholeNumber } from "./scalars.ts";
import { optional, section, setting } from "./setting.ts";

const TOKEN_MIN = 16;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i;

const token: Decoder<string> = text(
  `a text of at least ${TOKEN_MIN} characters without blanks`,
  (given) => {
    if (/^[\x21-\x7e]{16,256}$/.test(given)) return value(given);
    return wrong("`openssl rand -hex 32` makes one");
  },
  hidden,
);

const admin = textLike("an admin port such as host-1:9464", ADMIN_ADDRESS);

interface Values {
  readonly host: string;
  readonly token: string | null;
}

function guarded<V extends Values>(values: V, place: Place): V | Invalid {
  if (LOOPBACK.test(values.host) || values.token !== null) return values;
  return place.child("token").fail({
    found: `nothing, with ${values.host} as the host`,
    expected: "a token, because other machines can reach the page",
    hint: "set it from a variable or a file, or listen on 127.0.0.1",
  });
}

export const consoleSettings = section(
  "The page for people, see [The page](console.md). `switchyard console` serves it, and `run` where its stages name `console`.",
  {
    host: setting(
      listenHost,
      "127.0.0.1",
      "Where it listens. Beyond this machine it needs a token.",
    ),
    port: setting(wholeNumber(0, 65_535), CONSOLE_PORT, "0: any free port."),
    token: optional(token, "People log in with it. At least 16 characters."),
    readOnly: setting(
      flag(),
      true,
      "Whether the page only shows. With false, people who may look may also act: pause, resume, retry, drain, cancel, replay, approve.",
    ),
    showPayloads: setting(
      flag(),
      false,
      "Whether dead letters are shown with the beginning of their value, which is data of your users.",
    ),
    adminAddresses: setting(
      listOf(admin, "admin ports such as host-1:9464", { min: 0, max: 1_000 }),
      [],
      "Admin ports of the processes to ask. With `run`, its own comes to them.",
    ),
  },
  guarded,
);
