/**
 * The setting `auth` of a webhook destination, which defines how requests are authenticated
 * (docs/authentication.md).
 */

import { assertionKey } from "../../../base/runtime/client-assertion.ts";
import type { Invalid, Place } from "../../../base/settings/config-path.ts";
import { webUrl } from "../../../base/settings/endpoint-url.ts";
import { pemFile } from "../../../base/settings/pem.ts";
import { kindOf } from "../../../base/settings/problem.ts";
import { oneOf, secret, textLike } from "../../../base/settings/scalars.ts";
import {
  optional,
  optionalVariants,
  required,
  section,
  setting,
  variants,
} from "../../../base/settings/setting.ts";
import { secretMap } from "../../../base/settings/webhook-fields.ts";

export interface OAuth2 {
  readonly type: "oauth2";
  readonly tokenUrl: string;
  readonly clientId: string;
  /** Secret. Null if there is a private key. */
  readonly clientSecret: string | null;
  /** PEM. Null if there is a client secret. */
  readonly privateKey: string | null;
  readonly keyId: string | null;
  readonly scope: string | null;
  readonly credentialsIn: "header" | "body";
  /** The values may be secret. */
  readonly parameters: Readonly<Record<string, string>>;
}

export type WebhookAuth =
  | OAuth2
  | { readonly type: "basic"; readonly username: string; readonly password: string }
  | { readonly type: "bearer"; readonly token: string };

/** The fields of the token request that have settings of their own. */
const OWN_PARAMETERS = [
  "grant_type",
  "client_id",
  "client_secret",
  "client_assertion",
  "client_assertion_type",
  "scope",
];
const ONE = "remove one of them";
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
    return place.fail(found, "a field that may be added", "remove it");
  }
  if (typeof given === "string") return [name, given];
  return place.fail(kindOf(given), "a string", "put the value in quotes");
}

const oauth2 = section(
  "A token that is obtained with the OAuth 2 client credentials grant.",
  {
    tokenUrl: required(
      webUrl("a complete http or https URL"),
      "URL from which tokens are requested.",
    ),
    clientId: required(textLike("a client ID", /./s), "Client ID."),
    clientSecret: optional(
      secret("a client secret"),
      "Client secret. Required unless `privateKey` is set.",
    ),
    privateKey: optional(
      pemFile("the path of a PEM file with a private key, without a passphrase", assertionKey),
      "RSA key, or EC key on P-256, that signs a JWT, which is sent instead of the client secret " +
        "(`private_key_jwt`).",
    ),
    keyId: optional(textLike("a key ID", /./s), "Key ID in the JWT's header (`kid`)."),
    scope: optional(textLike("a scope", /./s), "Scopes of the token, separated by spaces."),
    credentialsIn: setting(
      oneOf("header", "body"),
      "header",
      "How the client ID and secret are sent: in the header `Authorization`, or in the form.",
    ),
    parameters: setting(
      parameters,
      {},
      "Additional form fields, such as `audience` or `resource`.",
    ),
  },
  (values, place): OAuth2 | Invalid => {
    const { clientSecret, privateKey, keyId } = values;
    if (clientSecret === null && privateKey === null) {
      return place.child("clientSecret").fail("nothing", "a client secret, or privateKey");
    }
    if (clientSecret !== null && privateKey !== null) {
      const expected = "nothing, because clientSecret is set";
      return place.child("privateKey").fail("a private key", expected, ONE);
    }
    if (keyId !== null && privateKey === null) {
      const expected = "nothing, because privateKey is not set";
      return place.child("keyId").fail("a key ID", expected, "remove it");
    }
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
    return place.child("token").fail("a value that HTTP does not allow", expected);
  },
);

/** Null if requests have no `Authorization` header. */
export const authSetting = optionalVariants(
  variants(
    "Credentials for the `Authorization` header of each request.",
    "type",
    "Kind of authentication.",
    { oauth2, basic, bearer },
  ),
);
