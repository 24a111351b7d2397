/** Records that producers should not write, and the expected result of each. */

import type { DeadLetterReason } from "../../src/domain/dead-letter.ts";
import type { RecordHeader, RecordHeaders } from "../../src/domain/record.ts";
import type { Received } from "./endpoints.ts";

export interface Hostile {
  readonly name: string;
  readonly records: readonly {
    readonly value: string | Buffer | null;
    readonly headers?: RecordHeaders;
  }[];
  readonly deadLetters: readonly (readonly [reason: DeadLetterReason, count: number])[];
  /** Webhooks that arrive at the honest destination. */
  readonly calls: number;
  /** Returns what is wrong with the webhooks. */
  readonly judge?: (delivered: readonly Received[]) => readonly string[];
}

const LEVELS = 100_000;
const DIGITS = "7".repeat(100_000);
/** CR, LF, C1, a bidi control, NUL and a lone surrogate. */
const NASTY = "a\r\nX-Injected: 1\u0000\u009b2J\u202e\ud800";

function track(fields: object): string {
  return JSON.stringify({ type: "track", userId: "u", event: "Attack", ...fields });
}

/** @param properties JSON, which is used unchanged. */
function trackWith(properties: string): string {
  return `{"type":"track","userId":"u","event":"Attack","properties":${properties}}`;
}

function header(name: string, value: string): RecordHeader {
  return [name, Buffer.from(value)];
}

const RECORDS: readonly Hostile[] = [
  {
    name: "no JSON, cut short, no UTF-8, empty",
    records: [
      ...["", "{", '{"type":"track"', "NaN", "call"].map((value) => ({ value })),
      { value: Buffer.from([0x22, 0xff, 0x22]) },
    ],
    deadLetters: [["undecodable", 6]],
    calls: 0,
  },
  {
    name: "JSON that is no call",
    records: [
      ...["null", "[]", "1", '"track"', "{}", '{"type":5}', '{"type":"constructor"}'],
      ...['{"type":"track","userId":"u"}', '{"type":"track","event":"e"}'],
      '{"type":"group","userId":"u"}',
    ].map((value) => ({ value })),
    deadLetters: [["invalid-call", 10]],
    calls: 0,
  },
  {
    name: "tombstones",
    records: Array.from({ length: 20 }, () => ({ value: null })),
    deadLetters: [["undecodable", 20]],
    calls: 0,
  },
  {
    name: "values framed by a schema registry",
    records: [{ value: Buffer.from([0, 0, 0, 0, 7, 1, 2]) }, { value: Buffer.from([0]) }],
    deadLetters: [["unknown-schema", 2]],
    calls: 0,
  },
  {
    name: "a source that there is not, by header and by field",
    records: [
      { value: track({}), headers: [header("source-id", "nobody")] },
      { value: track({ sourceId: "nobody" }) },
      { value: track({ writeKey: "wrong" }) },
    ],
    deadLetters: [["unknown-source", 3]],
    calls: 0,
  },
  {
    name: "3,000 escaped names beside IDs with many digits",
    records: Array.from({ length: 20 }, () => ({
      value: `{"type":"track","event":"Attack","userId":1234567890123456789,"anonymousId":1,"groupId":1,"messageId":"own",${'"\\u0061":0,'.repeat(3_000)}"z":1}`,
    })),
    deadLetters: [],
    calls: 20,
  },
  {
    name: "headers that speak for the product",
    records: [
      {
        value: track({ messageId: "own" }),
        headers: [
          header("switchyard-destination", "other"),
          header("Switchyard-Destination", "other"),
          header("SWITCHYARD-RETURN-TOPIC", "__consumer_offsets"),
          header("switchyard-message-id", "forged"),
          header("Switchyard-Message-Id", "forged"),
          header("switchyard-attempt", "999"),
          header("switchyard-first-attempt-at", "0"),
          header("switchyard-not-before", "9999999999999"),
          header("switchyard-rejected-by", "0000000000000000"),
        ],
      },
    ],
    deadLetters: [],
    calls: 1,
    judge: (delivered) =>
      delivered.flatMap(({ messageId }) => (messageId === "own" ? [] : [`id ${messageId}`])),
  },
  {
    name: "2,000 headers, without values, twice, with odd names",
    records: [
      {
        value: track({}),
        headers: [
          ...Array.from({ length: 2_000 }, (_, at) => header(`h${at % 7}`, "v")),
          ["empty", null],
          header("", "no name"),
          header(NASTY.slice(0, -1), NASTY),
          header("__proto__", "p"),
        ],
      },
    ],
    deadLetters: [],
    calls: 1,
    judge: noInjection,
  },
  {
    name: `${LEVELS.toLocaleString("en")} levels of nesting`,
    records: [
      { value: trackWith(`{"a":${"[".repeat(LEVELS)}${"]".repeat(LEVELS)}}`) },
      { value: trackWith(`${'{"a":'.repeat(LEVELS)}1${"}".repeat(LEVELS)}`) },
      { value: "[".repeat(LEVELS) },
    ],
    deadLetters: [
      ["invalid-call", 2],
      ["undecodable", 1],
    ],
    calls: 0,
  },
  {
    name: "deep nesting in another field, beside a number that is rounded",
    records: [
      {
        value: `{"type":"track","userId":"u","event":"Attack","properties":{"id":9007199254740993},"extra":${"[".repeat(LEVELS)}${"]".repeat(LEVELS)}}`,
      },
    ],
    deadLetters: [],
    calls: 1,
  },
  {
    name: "numbers beyond what JSON's readers hold",
    records: [
      {
        value: trackWith(`{"digits":${DIGITS},"big":1e400,"small":-1e-400,"id":9007199254740993}`),
      },
      { value: '{"type":"track","userId":1e308,"event":"Attack"}' },
    ],
    deadLetters: [],
    calls: 2,
  },
  {
    name: "a userId of 1e400",
    records: [{ value: '{"type":"track","userId":1e400,"event":"Attack"}' }],
    deadLetters: [["invalid-call", 1]],
    calls: 0,
  },
  {
    name: "times that are none, or far away",
    records: [
      ...[{ timestamp: "-271821-04-20" }, { timestamp: 1e300 }, { timestamp: {} }],
      { originalTimestamp: "9999-12-31", sentAt: "0001-01-01", receivedAt: "x" },
    ].map((fields) => ({ value: track(fields) })),
    deadLetters: [],
    calls: 4,
  },
  {
    name: "keys that are part of JavaScript",
    records: [
      { value: trackWith('{"__proto__":{"type":"x"},"constructor":1,"toJSON":2,"then":3}') },
      {
        value:
          '{"type":"track","userId":"u","event":"Attack","integrations":{"__proto__":{"All":false},"constructor":true}}',
      },
      { value: '{"__proto__":{"userId":"v"},"type":"track","userId":"u","event":"Attack"}' },
    ],
    deadLetters: [],
    calls: 3,
    judge: (delivered) =>
      delivered.flatMap(({ body }) => (body.includes('"userId":"u"') ? [] : ["another user"])),
  },
  {
    name: "ids and events that would control a header, a log or a terminal",
    records: [
      { value: track({ messageId: NASTY, userId: NASTY, event: NASTY }) },
      { value: track({ messageId: "m".repeat(10_000) }) },
    ],
    deadLetters: [],
    calls: 2,
    judge: noInjection,
  },
  {
    name: "a value of 1,000,000 bytes",
    records: [{ value: track({ properties: { a: "x".repeat(1_000_000) } }) }],
    deadLetters: [],
    calls: 1,
  },
];

/** @param flood the number of records of the last attack. */
export function hostileRecords(flood: number): readonly Hostile[] {
  return [
    ...RECORDS,
    {
      name: `a flood of ${flood.toLocaleString("en")} that are no calls`,
      records: Array.from({ length: flood }, (_, at) => ({ value: `{"type":"x${at}"}` })),
      deadLetters: [["invalid-call", flood]],
      calls: 0,
    },
  ];
}

function noInjection(delivered: readonly Received[]): readonly string[] {
  return delivered.flatMap(({ headers }) => {
    const names = Object.keys(headers);
    return "x-injected" in headers || names.some((name) => !WEBHOOK_HEADERS.has(name))
      ? [`headers ${names.join(" ")}`]
      : [];
  });
}

const WEBHOOK_HEADERS: ReadonlySet<string> = new Set([
  ...["host", "connection", "content-length", "user-agent", "content-type", "x-signature"],
  ...["webhook-id", "webhook-timestamp", "webhook-signature", "x-switchyard-message-id", "x-team"],
]);
