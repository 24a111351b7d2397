/** The section `tracing`: where spans are posted to, and of which traces. */

import { webUrl } from "./endpoint-url.ts";
import { testShare } from "./percent.ts";
import { flag, text, textLike } from "./scalars.ts";
import { optionalSection, required, section, setting } from "./setting.ts";
import { staticHeaders } from "./static-headers.ts";

export const tracingSettings = optionalSection(
  section("Traces by OpenTelemetry, see [Traces](traces.md). Left out: there are none.", {
    url: required(
      webUrl("a complete http or https URL"),
      "Where spans are posted to by OTLP over HTTP, as protobuf, with its path, such as `http://collector:4318/v1/traces`.",
    ),
    headers: setting(staticHeaders, {}, "Headers of these posts, such as an API key."),
    sampleRatio: setting(
      text<number>("a share such as 1%", testShare),
      "1%",
      "Of the traces that begin here, those that are kept. Traces of producers are kept if they say so.",
    ),
    parentBased: setting(
      flag(),
      false,
      "Whether callers of ingest decide which of their traces are kept. Leave it out where strangers call.",
    ),
    serviceName: setting(
      textLike("a name", /^\S.*$/),
      "switchyard",
      "Name of the service. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` go before it.",
    ),
  }),
  false,
);
