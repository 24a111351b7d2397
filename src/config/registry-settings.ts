/** The section `registry`: the addresses of a schema registry, and how to authenticate to it. */

import { INVALID, type Place } from "../base/settings/config-path.ts";
import { type Decoder, type Tested, wrong } from "../base/settings/decoder.ts";
import { showUrl, testUrl } from "../base/settings/endpoint-url.ts";
import { tlsFiles } from "../base/settings/pem.ts";
import { listOf, listOrText, secret, text, textLike } from "../base/settings/scalars.ts";
import {
  optional,
  optionalSection,
  required,
  section,
  type Values,
} from "../base/settings/setting.ts";
import { CLIENT_CREDENTIALS } from "./kafka-settings.ts";

const URLS_MAX = 10;

const url = text("a complete http or https URL", testRegistryUrl, showUrl);

function testRegistryUrl(given: string): Tested<string> {
  if (given.includes("?")) return wrong("remove `?` and what follows; a path is allowed");
  return testUrl(given);
}

const manyUrls = listOf(url, "complete http or https URLs", { min: 1, max: URLS_MAX });

const urls: Decoder<readonly string[]> = {
  ...listOrText(
    manyUrls,
    "a complete http or https URL, a list of URLs, or a string of URLs separated by commas",
    "remove the user name and password, and set registry.username and registry.password",
  ),
  show: (raw) =>
    typeof raw === "string" ? raw.split(",").map(showUrl).join() : manyUrls.show(raw),
};

const fields = {
  url: required(
    urls,
    "URL of the registry. If one of several does not respond, the next one is used.",
  ),
  username: optional(textLike("a user name", /^[^:]+$/), "User name. Requires `password`."),
  password: optional(secret("a password"), "Password of `username`."),
  token: optional(secret("a token"), "A bearer token, instead of a user name."),
  oauth: optionalSection(
    section("The OAuth 2 client credentials grant, instead of a user name.", CLIENT_CREDENTIALS),
    false,
  ),
  tls: optionalSection(tlsFiles("TLS files for https URLs."), false),
};

export const registrySettings = optionalSection(
  section(
    "The schema registry, for values that start with a schema ID. If not set, such values become dead letters.",
    fields,
    ({ url: urlsGiven, tls, ...authentication }, place) => {
      const chosen = readAuthentication(authentication, place);
      return chosen === INVALID ? INVALID : { urls: urlsGiven, authentication: chosen, tls };
    },
  ),
  false,
);

/**
 *   settings                          authentication
 *   nothing                           none
 *   username and password             basic
 *   one of username and password      a problem
 *   only token                        token
 *   only oauth                        oauth
 *   two of username, token, oauth     a problem
 */
function readAuthentication(
  { username, password, token, oauth }: Omit<Values<typeof fields>, "url" | "tls">,
  place: Place,
) {
  const isBasic = username !== null || password !== null;
  const ways = [
    ...(isBasic ? ["username"] : []),
    ...(token === null ? [] : ["token"]),
    ...(oauth === null ? [] : ["oauth"]),
  ];
  const [first, second] = ways;
  if (first !== undefined && second !== undefined) {
    const expected = `one way to authenticate, but ${first} is set too`;
    return place.child(second).fail(`both ${first} and ${second}`, expected);
  }
  if (isBasic && (username === null || password === null)) {
    const [there, missing] =
      username === null ? ["password", "username"] : ["username", "password"];
    return place.child(missing).fail("nothing", `a string, because ${there} is set`);
  }
  if (username !== null && password !== null) return { kind: "basic", username, password } as const;
  if (token !== null) return { kind: "token", token } as const;
  return oauth === null ? null : ({ kind: "oauth", ...oauth } as const);
}
