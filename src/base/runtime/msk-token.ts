/**
 * Creates a token for Amazon MSK, with which a process authenticates as its IAM role. The token is the URL of a connect
 * request, signed with Signature Version 4, in base64url. The broker checks the token with IAM. No request is needed to
 * create a token.
 */

import { createHash, createHmac } from "node:crypto";

export interface AwsCredentials {
  readonly accessKeyId: string;
  /** Secret. */
  readonly secretAccessKey: string;
  /** Secret. Null if the credentials belong to a user, not a role. */
  readonly sessionToken: string | null;
  /** Null if the credentials do not expire. */
  readonly expiresAtMs: number | null;
}

/** The maximum that MSK allows. */
const LIFE_S = 900;
const SERVICE = "kafka-cluster";
const ALGORITHM = "AWS4-HMAC-SHA256";

/** @param region the region of the cluster, such as `eu-central-1`. */
export function mskToken(region: string, credentials: AwsCredentials, nowMs: number): string {
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const host = `kafka.${region}.amazonaws.com`;
  // Such as 20260301T093015Z.
  const time = `${new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z`;
  const day = time.slice(0, 8);
  const scope = `${day}/${region}/${SERVICE}/aws4_request`;
  const parameters = [
    ["Action", "kafka-cluster:Connect"],
    ["X-Amz-Algorithm", ALGORITHM],
    ["X-Amz-Credential", `${accessKeyId}/${scope}`],
    ["X-Amz-Date", time],
    ["X-Amz-Expires", `${LIFE_S}`],
    ...(sessionToken === null ? [] : [["X-Amz-Security-Token", sessionToken]]),
    ["X-Amz-SignedHeaders", "host"],
  ];
  // Parameters are signed in the order of their names, which is the order of this list.
  const query = parameters.map((pair) => pair.map(encoded).join("=")).join("&");
  const request = ["GET", "/", query, `host:${host}`, "", "host", sha256("")].join("\n");
  const text = [ALGORITHM, time, scope, sha256(request)].join("\n");
  const key = [day, region, SERVICE, "aws4_request"].reduce<string | Buffer>(
    hmac,
    `AWS4${secretAccessKey}`,
  );
  const signature = hmac(key, text).toString("hex");
  const url = `https://${host}/?${query}&X-Amz-Signature=${signature}&User-Agent=switchyard`;
  return Buffer.from(url).toString("base64url");
}

/** Encodes a parameter as RFC 3986 defines, which AWS requires before signing. */
function encoded(text: string): string {
  const percent = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, percent);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
