/** The setting `auth` of a webhook destination: how its requests are authenticated (docs/authentication.md). */

import type { Invalid, Place } from "../../settings/config-path.ts";
import { webUrl } from "../../settings/endpoint-url.ts";
import { kindOf } from "../../settings/problem.ts";
import { oneOf, secret, textLike } from "../../settings/scalars.ts";
import {
  optional,
  optionalVariants,
  required,
  section,
  setting,
  variants,
} from "../../settings/setting.ts";
import { secretMap } from "../../settings/webhook-fields.ts";

export interface OAuth2 {
  readonly type: "oauth2";
  readonly tokenUrl: string;
  readonly clientId: string;
  /** Secret. */
  readonly clientSecret: string;
  readonly scope: string | null;
  readonly credentialsIn: "header" | "body";
  /** Values may be secret. */
  readonly parameters: Readonly<Record<string, string>>;
}

export type WebhookAuth =
  | OAuth2
  | { readonly type: "basic"; readonly username: string; readonly password: string }
  | { readonly type: "bearer"; readonly token: string };

/** Fields of the token request that have separate settings. */
const OWN_PARAMETERS = ["grant_type", "client_id", "client_secret", "scope"];
const VISIBLE = /^[!-~]+$/;

const parameters = secretMap("a map of names to strings", (entries, place) =>
  entries.map(([name, given]) => parameter(name, given, place.child(name))),
);

function parameter(
  name: string,
  given: unknown,
  place: Place,
): readonly [string, string] | Invalid {
  if (OWN_PARAMETERS.includes(name)) {
    const found = "a field that has its own setting, or that Switchyard sets";
    return place.fail({ found, expected: "a field that may be added", hint: "remove it" });
  }
  if (typeof given === "string") return [name, given];
  return place.fail({
    found: kindOf(given),
    expected: "a string",
    hint: "put the value in quotes",
  });
}

const oauth2 = section(
  "A token from OAuth 2 client credentials.",
  {
    tokenUrl: required(
      webUrl("a complete http or https URL"),
      "URL from which tokens are requested.",
    ),
    clientId: required(textLike("a client ID", /./s), "Client ID."),
    clientSecret: required(secret("a client secret"), "Client secret."),
    scope: optional(
      textLike("a scope", /./s),
      "Scope of the token; several are separated by spaces.",
    ),
    credentialsIn: setting(
      oneOf("header", "body"),
      "header",
      "How the client ID and secret are sent: in the header `Authorization`, or in the form.",
    ),
    parameters: setting(
      parameters,
      {},
      "Further fields of the form, such as `audience` or `resource`. Values are secret.",
    ),
  },
  (values): OAuth2 => {
    return { type: "oauth2", ...values, parameters: Object.fromEntries(values.parameters) };
  },
);

const basic = section(
  "User name and password.",
  {
    username: required(textLike("a user name without a colon", /^[^:\p{Cc}]+$/u), "User name."),
    password: required(secret("a password"), "Password."),
  },
  (values) => ({ type: "basic" as const, ...values }),
);

const bearer = section(
  "A token that does not change.",
  { token: required(secret("a token"), "Token.") },
  (values, place) => {
    if (VISIBLE.test(values.token)) return { type: "bearer" as const, ...values };
    const expected = "visible ASCII characters";
    return place
      .child("token")
      .fail({ found: "a value that HTTP does not allow", expected, hint: null });
  },
);

/** Null if requests have no `Authorization` header. */
export const authSetting = optionalVariants(
  variants(
    "How requests are authenticated, with the header `Authorization`. If not set, requests are not authenticated.",
    "type",
    "Kind of authentication.",
    { oauth2, basic, bearer },
  ),
);
