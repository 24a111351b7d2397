/**
 * Finds AWS credentials for this process. The first row that applies decides.
 *
 *   if this is set                                             credentials come from
 *   AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY                   the environment
 *   AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE                  STS, for the role of an EKS service account
 *   AWS_CONTAINER_CREDENTIALS_FULL_URI or _RELATIVE_URI        EKS Pod Identity, ECS
 *   AWS_EC2_METADATA_DISABLED=true                             nowhere: an error
 *   nothing                                                    the instance's metadata (IMDSv2)
 *
 * Profiles in `~/.aws` and SSO are not read. Credentials are fetched again five minutes before they expire.
 */

import { readFile } from "node:fs/promises";

import { asError } from "./as-error.ts";
import type { Clock } from "./clock.ts";
import type { AwsCredentials } from "./msk-token.ts";
import { TokenError } from "./oauth-token.ts";
import { type CredentialRequest, requestCredentials } from "./request-credentials.ts";

export type AwsEnvironment = Readonly<Record<string, string | undefined>>;

const RENEW_BEFORE_MS = 300_000;
const CONTAINER_HOST = "http://169.254.170.2";
/** The hosts of ECS and EKS Pod Identity. A URL with any other host must be on this machine or use TLS. */
const CONTAINER_HOSTS = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"];
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
const METADATA_HOST = "http://169.254.169.254";

/**
 * Returns credentials that are valid for several minutes. Throws `TokenError`, whose message never contains a secret.
 */
export function awsCredentials(
  region: string,
  env: AwsEnvironment,
  clock: Clock,
): () => Promise<AwsCredentials> {
  let current: AwsCredentials | null = null;
  let inFlight: Promise<AwsCredentials> | null = null;
  const fetchAgain = async (): Promise<AwsCredentials> => {
    current = await find(region, env);
    return current;
  };
  return () => {
    const endsAtMs = current?.expiresAtMs ?? Number.POSITIVE_INFINITY;
    if (current !== null && clock.nowMs() < endsAtMs - RENEW_BEFORE_MS) {
      return Promise.resolve(current);
    }
    inFlight ??= fetchAgain()
      .catch((error: unknown) => {
        // Credentials stay in use until there are others, or they expire.
        if (current !== null && clock.nowMs() < endsAtMs) return current;
        throw error;
      })
      .finally(() => {
        inFlight = null;
      });
    return inFlight;
  };
}

async function find(region: string, env: AwsEnvironment): Promise<AwsCredentials> {
  const accessKeyId = env.AWS_ACCESS_KEY_ID ?? "";
  const secretAccessKey = env.AWS_SECRET_ACCESS_KEY ?? "";
  if (accessKeyId !== "" && secretAccessKey !== "") {
    const sessionToken = env.AWS_SESSION_TOKEN || null;
    return { accessKeyId, secretAccessKey, sessionToken, expiresAtMs: null };
  }
  if (env.AWS_ROLE_ARN && env.AWS_WEB_IDENTITY_TOKEN_FILE) {
    return await ofServiceAccount(region, env.AWS_ROLE_ARN, env.AWS_WEB_IDENTITY_TOKEN_FILE, env);
  }
  const relative = env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI;
  const full = env.AWS_CONTAINER_CREDENTIALS_FULL_URI;
  if (relative) return await ofContainer(`${CONTAINER_HOST}${relative}`, env);
  if (full) return await ofContainer(full, env);
  if (env.AWS_EC2_METADATA_DISABLED?.toLowerCase() === "true") {
    throw new TokenError(
      "No AWS credentials in the environment, and AWS_EC2_METADATA_DISABLED is true",
    );
  }
  return await ofInstance(env.AWS_EC2_METADATA_SERVICE_ENDPOINT || METADATA_HOST);
}

async function ofServiceAccount(
  region: string,
  role: string,
  tokenFile: string,
  env: AwsEnvironment,
): Promise<AwsCredentials> {
  const what = "the role of the service account (STS)";
  const suffix = region.startsWith("cn-") ? ".cn" : "";
  const url = env.AWS_ENDPOINT_URL_STS || `https://sts.${region}.amazonaws.com${suffix}/`;
  const token = await readToken(tokenFile, what);
  const form = new URLSearchParams({
    Action: "AssumeRoleWithWebIdentity",
    Version: "2011-06-15",
    RoleArn: role,
    RoleSessionName: env.AWS_ROLE_SESSION_NAME || "switchyard",
    WebIdentityToken: token,
  });
  const response = await requestJson(what, {
    url,
    method: "POST",
    headers: { accept: "application/json", "content-type": "application/x-www-form-urlencoded" },
    body: form.toString(),
  });
  const { AssumeRoleWithWebIdentityResponse: assumed } = asMap(response);
  const found = asMap(asMap(asMap(assumed).AssumeRoleWithWebIdentityResult).Credentials);
  return read(what, { ...found, Token: found.SessionToken });
}

async function ofContainer(url: string, env: AwsEnvironment): Promise<AwsCredentials> {
  const what = "the container's credentials";
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: "", hostname: "" };
  const isNear = CONTAINER_HOSTS.includes(hostname) || LOOPBACK.test(hostname);
  if (protocol !== "https:" && !isNear) {
    throw new TokenError(
      "AWS_CONTAINER_CREDENTIALS_FULL_URI must use TLS or point to this machine",
    );
  }
  const file = env.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE;
  const authorization = file ? await readToken(file, what) : env.AWS_CONTAINER_AUTHORIZATION_TOKEN;
  const headers = authorization ? { authorization } : {};
  return read(what, await requestJson(what, { url, method: "GET", headers }));
}

async function ofInstance(endpoint: string): Promise<AwsCredentials> {
  const what = "the instance's metadata";
  const base = `${endpoint.replace(/\/$/, "")}/latest`;
  const lifetime = { "x-aws-ec2-metadata-token-ttl-seconds": "60" };
  const url = `${base}/api/token`;
  const session = await text(what, { url, method: "PUT", headers: lifetime });
  const get = { method: "GET", headers: { "x-aws-ec2-metadata-token": session } } as const;
  const roles = `${base}/meta-data/iam/security-credentials/`;
  const role = (await text(what, { ...get, url: roles })).trim();
  return read(what, await requestJson(what, { ...get, url: roles + encodeURIComponent(role) }));
}

function read(what: string, response: unknown): AwsCredentials {
  const { AccessKeyId, SecretAccessKey, Token, Expiration } = asMap(response);
  const isComplete = typeof AccessKeyId === "string" && typeof SecretAccessKey === "string";
  if (!isComplete) throw new TokenError(`No credentials from ${what}: the response contains none`);
  // STS returns a number of seconds; the other services return a date.
  const expiresAtMs =
    typeof Expiration === "number" ? Expiration * 1_000 : Date.parse(String(Expiration));
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: typeof Token === "string" ? Token : null,
    expiresAtMs: Number.isNaN(expiresAtMs) ? null : expiresAtMs,
  };
}

async function requestJson(what: string, request: CredentialRequest): Promise<unknown> {
  const body = await text(what, request);
  try {
    return JSON.parse(body) as unknown;
  } catch {
    // The body is not quoted, because it may contain secrets.
    throw new TokenError(`No credentials from ${what}: the response is not JSON`);
  }
}

async function text(what: string, request: CredentialRequest): Promise<string> {
  const response = await requestCredentials(request).catch((cause: unknown) => {
    throw new TokenError(`No credentials from ${what}: ${asError(cause).message}`, { cause });
  });
  const { status, body } = response;
  if (status !== 200) throw new TokenError(`No credentials from ${what}: status ${status}`);
  return body;
}

async function readToken(file: string, what: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (cause) {
    throw new TokenError(`No credentials from ${what}: ${file} cannot be read`, { cause });
  }
}

function asMap(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
