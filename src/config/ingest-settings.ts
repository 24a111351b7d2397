/** The section `ingest`: where calls are taken over HTTP, and how much at a time. */

import { value, wrong } from "./decoder.ts";
import { certificateAndKey } from "./pem.ts";
import { duration, listOf, text, textLike, wholeNumber } from "./scalars.ts";
import { optionalSection, section, setting } from "./setting.ts";
import { size } from "./size.ts";

const MIB = 1_048_576;
/** With the time for requests under way, the whole stop stays within its 30 s. */
const HANDOVER_MAX_MS = 15_000;

const origin = text("an origin such as https://app.example.com, or *", (given) => {
  if (given === "*") return value(given);
  if (!URL.canParse(given)) return wrong("begin with https:// or http://");
  const url = new URL(given);
  const isWeb = url.protocol === "https:" || url.protocol === "http:";
  if (isWeb && url.origin === given) return value(given);
  return wrong(isWeb ? `write ${url.origin}` : "begin with https:// or http://");
});

export const ingestSettings = section("The port that takes calls over HTTP.", {
  host: setting(textLike("an address or a host name", /^[^\s/]+$/), "0.0.0.0", "Where it listens."),
  port: setting(wholeNumber(0, 65_535), 8_080, "0: any free port."),
  tls: optionalSection(
    certificateAndKey("Takes HTTPS in place of HTTP. Left out: HTTP, such as behind a proxy."),
    false,
  ),
  handover: setting(
    duration(0, HANDOVER_MAX_MS),
    "5s",
    "How long new connections are still answered after SIGTERM, while a successor or a load balancer takes over.",
  ),
  corsOrigins: setting(
    listOf(origin, "origins such as https://app.example.com", { min: 0, max: 1_000 }),
    [],
    "Origins whose pages may send calls from a browser; `*`: all of them.",
  ),
  bytesInHand: setting(
    size(MIB, 1_024 * MIB),
    "64MiB",
    "Most bytes of requests being read and of calls not acknowledged; beyond that requests are answered 429.",
  ),
});
