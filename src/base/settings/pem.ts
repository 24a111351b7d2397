/** Settings that name a PEM file. The decoded configuration contains the file's text. */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { foundAt, INVALID, type Invalid, type Place } from "./config-path.ts";
import { type Decoder, decoderOf } from "./decoder.ts";
import { HIDDEN } from "./problem.ts";
import { textLike } from "./scalars.ts";
import { optional, required, type Section, section, type Values } from "./setting.ts";

export const certificateFile = pemFile("the path of a PEM file with certificates", (pem) => {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw new Error("no CERTIFICATE block in it");
  for (const block of blocks) new X509Certificate(block);
});

const keyFile = pemFile(
  "the path of a PEM file with a private key, without a passphrase",
  (pem) => {
    createPrivateKey(pem);
  },
);

const TLS_FIELDS = {
  ca: optional(certificateFile, "Certificates of a private CA."),
  cert: optional(certificateFile, "Client certificate, for mutual TLS. Requires `key`."),
  key: optional(keyFile, "The private key of `cert`."),
};

type TlsFiles = Values<typeof TLS_FIELDS>;

/** `ca`, `cert` and `key` of a connection; the certificate and the key must belong together. */
export function tlsFiles(doc: string): Section<TlsFiles> {
  return section(doc, TLS_FIELDS, checked);
}

/** Like `tlsFiles`, with the name in the servers' certificates; that name is null if it is the host of each server. */
export function tlsFilesAndName(
  doc: string,
): Section<TlsFiles & { readonly serverName: string | null }> {
  const serverName = optional(
    textLike("a host name", /^[\w-]+(?:\.[\w-]+)*$/),
    "Name in the servers' certificates, if it differs from the servers' addresses.",
  );
  return section(doc, { ...TLS_FIELDS, serverName }, checked);
}

function checked<Files extends TlsFiles>(files: Files, place: Place): Files | Invalid {
  const { cert, key } = files;
  if (cert === null && key === null) return files;
  if (cert === null || key === null) {
    const [there, missing] = cert === null ? ["key", "cert"] : ["cert", "key"];
    return place.child(missing).fail("nothing", `the path of a PEM file, because ${there} is set`);
  }
  return belongTogether(cert, key) ? files : othersKey(place);
}

/** `cert` and `key` of a server. */
export function certificateAndKey(
  doc: string,
): Section<{ readonly cert: string; readonly key: string }> {
  const fields = {
    cert: required(certificateFile, "The certificate, followed by the intermediate certificates."),
    key: required(keyFile, "The private key of `cert`."),
  };
  return section(doc, fields, (files, place) =>
    belongTogether(files.cert, files.key) ? files : othersKey(place),
  );
}

function belongTogether(cert: string, key: string): boolean {
  return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
}

function othersKey(place: Place): Invalid {
  const expected = "the private key of the certificate in cert";
  return place.child("key").fail("another certificate's key", expected);
}

/** @param check throws an Error whose message describes what is wrong with the file. */
export function pemFile(expected: string, check: (pem: string) => void): Decoder<string> {
  const decode = (raw: unknown, place: Place): string | Invalid => {
    const found = foundAt(place, raw, showPath);
    if (typeof raw !== "string" || raw === "") return place.fail(found, expected);
    if (PEM_TEXT.test(raw)) return place.fail(found, expected, PEM_HINT);
    const file = place.readFile(raw);
    if (file.kind === "unreadable") {
      return place.fail(`${found}, which cannot be read: ${file.why}`, expected, RELATIVE);
    }
    // Certificate files may contain comments in any encoding, but the relevant parts are ASCII.
    const pem = file.bytes.toString();
    try {
      check(pem);
      return pem;
    } catch (error) {
      const why = error instanceof Error ? error.message : "unreadable";
      place.fail(`${found}, which cannot be used: ${why}`, expected);
      return INVALID;
    }
  };
  return decoderOf({ expected, show: showPath, json: { type: "string" }, decode });
}

const PEM_TEXT = /-----|\p{Cc}/u;
/**
 * Matches a string that may be the base64 form of a key. A path may have the same form; such a path is used, but not
 * shown.
 */
const LIKE_BASE64 = /[A-Za-z\d+/=]{60}/;
const PEM_HINT = "put the PEM text into a file, and set the path of that file";

/** Shows a path, but not a key that was given instead of its path. */
function showPath(raw: unknown): unknown {
  return typeof raw === "string" && (PEM_TEXT.test(raw) || LIKE_BASE64.test(raw)) ? HIDDEN : raw;
}

const RELATIVE = "a relative path is resolved against the folder of the configuration file";
