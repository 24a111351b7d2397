// Tokens for Amazon MSK. The expected signatures are from botocore 1.44.5 (SigV4QueryAuth), for the same request.

import { expect, test } from "vitest";

import { mskToken } from "../../../../src/base/runtime/msk-token.ts";

const SIGNED = [
  {
    region: "eu-central-1",
    accessKeyId: "AKIAIOSFODNN7EXAMPLE",
    secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    sessionToken: null,
    at: "2026-03-01T09:30:15Z",
    signature: "e1ad5427e7aa0b94886088d61c7e4fddbe1af72c6d9c3ab69ba3a31b0397c4af",
  },
  {
    region: "us-east-1",
    accessKeyId: "ASIAIOSFODNN7EXAMPLE",
    secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    sessionToken: "IQoJb3JpZ2luX2VjE/+=='(*)!~ x",
    at: "2024-02-29T23:59:59Z",
    signature: "c3acdc221a36af2989f45b50153355597cd70a2d317683452edfa71ceee11af0",
  },
  {
    region: "cn-north-1",
    accessKeyId: "AKIA",
    secretAccessKey: "ssssssssssssssssssssssssssssssssssssssss",
    sessionToken: "t/+=",
    at: "2030-12-31T00:00:00Z",
    signature: "7d9a5256d79b7f1c82abc7e754468d9245660fdb978a725d8b25743d6af8a601",
  },
] as const;

test.each(SIGNED)(
  "it is signed as botocore signs it: $region",
  ({ region, at, signature, ...keys }) => {
    const credentials = { ...keys, expiresAtMs: null };
    const token = mskToken(region, credentials, Date.parse(at));
    expect(token).toMatch(/^[\w-]+$/);
    const url = new URL(Buffer.from(token, "base64url").toString());
    expect(url.origin).toBe(`https://kafka.${region}.amazonaws.com`);
    const day = at.slice(0, 10).replaceAll("-", "");
    expect(Object.fromEntries(url.searchParams)).toEqual({
      Action: "kafka-cluster:Connect",
      "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
      "X-Amz-Credential": `${keys.accessKeyId}/${day}/${region}/kafka-cluster/aws4_request`,
      "X-Amz-Date": at.replaceAll(/[-:]/g, ""),
      "X-Amz-Expires": "900",
      "X-Amz-SignedHeaders": "host",
      ...(keys.sessionToken !== null && { "X-Amz-Security-Token": keys.sessionToken }),
      "X-Amz-Signature": signature,
      "User-Agent": "switchyard",
    });
  },
);
