/** The section `kafka`: the connection to the cluster, and the names and sizes of topics. */

import { isIPv6 } from "node:net";
import { type Tested, value, wrong } from "../base/settings/decoder.ts";
import { webUrl } from "../base/settings/endpoint-url.ts";
import { tlsFilesAndName } from "../base/settings/pem.ts";
import { HIDDEN } from "../base/settings/problem.ts";
import {
  duration,
  flag,
  listOf,
  listOrText,
  oneOf,
  secret,
  size,
  testShare,
  text,
  textLike,
  wholeNumber,
} from "../base/settings/scalars.ts";
import {
  optional,
  optionalSection,
  optionalVariants,
  required,
  section,
  setting,
  variants,
} from "../base/settings/setting.ts";
import type { OwnTopicNames } from "../domain/topics.ts";

/** The longest name that Kafka allows for a topic. */
export const TOPIC_NAME_CHARACTERS_MAX = 249;

const broker = text("an address such as kafka-1:9092", testBroker, showBroker);

function testBroker(given: string): Tested<string> {
  const [, name, address, port] =
    /^(?:([\p{L}\p{N}._-]+)|\[([^[\]]+)\]):(\d{1,5})$/u.exec(given) ?? [];
  if (name === undefined && !isIPv6(address ?? "")) {
    const isAddress = /^\[|:.*:/.test(given);
    return wrong(
      isAddress
        ? "write an IPv6 address in brackets, and the port: [2001:db8::1]:9092"
        : "write only the host and the port",
    );
  }
  return Number(port) >= 1 && Number(port) <= 65_535
    ? value(given)
    : wrong("ports are from 1 to 65535");
}

/** Hides everything except an address, because users may write user names and passwords into this setting. */
function showBroker(raw: unknown): unknown {
  const isAddress =
    typeof raw !== "string" ||
    /^(?:\w+:\/\/)?(?:\[[\da-f:.%]*\]|[\p{L}\p{N}._-]*)(?::\d*)?\/?$/iu.test(raw);
  return isAddress ? raw : HIDDEN;
}

const brokers = listOrText(
  listOf(broker, "addresses such as kafka-1:9092", { min: 1, max: 100 }),
  "a list of addresses such as kafka-1:9092, or a comma-separated string",
  "remove the user name and password, and set kafka.sasl",
);

const topicName = textLike(
  `a topic name of at most ${TOPIC_NAME_CHARACTERS_MAX} letters, digits, dots, dashes and underscores`,
  new RegExp(`^(?!\\.{1,2}$)[\\w.-]{1,${TOPIC_NAME_CHARACTERS_MAX}}$`),
);

function credentials<const Mechanism extends "plain" | "scram-sha-256" | "scram-sha-512">(
  mechanism: Mechanism,
) {
  const fields = {
    username: required(textLike("a user name", /./s), "User name."),
    password: required(secret("a password"), "Password."),
  };
  return section("User name and password.", fields, (values) => ({ mechanism, ...values }));
}

/** The settings of the OAuth 2 client credentials grant, for Kafka and for the schema registry. */
export const CLIENT_CREDENTIALS = {
  tokenUrl: required(
    webUrl("a complete http or https URL"),
    "URL from which tokens are requested.",
  ),
  clientId: required(textLike("a client ID", /./s), "Client ID."),
  clientSecret: required(secret("a client secret"), "Client secret."),
  scope: optional(textLike("a scope", /./s), "Scope of the token."),
};

const oauth = section(
  "A token that is obtained with the OAuth 2 client credentials grant.",
  CLIENT_CREDENTIALS,
  (values) => ({ mechanism: "oauthbearer" as const, ...values }),
);

const mskIam = section(
  "The process's IAM role (Amazon MSK).",
  {
    region: required(
      textLike("a region such as eu-central-1", /^[a-z]{2}(?:-[a-z]+)+-\d{1,2}$/),
      "The cluster's region.",
    ),
  },
  (values) => ({ mechanism: "aws-msk-iam" as const, ...values }),
);

const sasl = variants(
  "How to authenticate to the brokers.",
  "mechanism",
  "Authentication mechanism.",
  {
    plain: credentials("plain"),
    "scram-sha-256": credentials("scram-sha-256"),
    "scram-sha-512": credentials("scram-sha-512"),
    oauthbearer: oauth,
    "aws-msk-iam": mskIam,
  },
);

/** This is enough for calls over HTTP, which can have up to 32 KB. */
const MAX_MESSAGE_BYTES_MIN = 64 * 1_024;
const MAX_MESSAGE_BYTES_MAX = 1_024 * 1_048_576;

const onCorruptBatch = oneOf("stop", "skip");

export const kafkaSettings = section("The Kafka cluster, and the topics in it.", {
  brokers: required(brokers, "Brokers to contact first."),
  topicPrefix: setting(
    textLike("letters, digits, dots, dashes and underscores", /^[\w.-]{0,200}$/),
    "switchyard.",
    "Prefix of the names of all topics and consumer groups.",
  ),
  topics: section(
    "Names of the topics that data platforms write to. They get no prefix.",
    {
      calls: optional(topicName, "Topic of calls, instead of `<topicPrefix>calls`."),
      audienceSyncs: optional(
        topicName,
        "Topic of audience syncs, instead of `<topicPrefix>audience-syncs`.",
      ),
      deletionRequests: optional(
        topicName,
        "Topic of deletion requests, instead of `<topicPrefix>deletion-requests`.",
      ),
    },
    ({ calls, audienceSyncs, deletionRequests }): OwnTopicNames => ({
      ...(calls !== null && { calls }),
      ...(audienceSyncs !== null && { audienceSyncs }),
      ...(deletionRequests !== null && { deletionRequests }),
    }),
  ),
  onCorruptBatch: section(
    "What to do with a corrupt batch: halt the stage (`stop`), or skip the batch, whose records " +
      "are lost (`skip`).",
    {
      calls: setting(onCorruptBatch, "stop", "For calls."),
      audienceSyncs: setting(onCorruptBatch, "stop", "For audience syncs."),
      deletionRequests: setting(onCorruptBatch, "stop", "For deletion requests."),
    },
  ),
  tls: optionalSection(tlsFilesAndName("TLS to the brokers."), true),
  sasl: optionalVariants(sasl),
  partitions: setting(wholeNumber(1, 10_000), 6, "Number of partitions of each new topic."),
  replicationFactor: optional(
    wholeNumber(1, 100),
    "Number of replicas of each new topic, instead of the brokers' default.",
  ),
  maxMessageBytes: optional(
    size(MAX_MESSAGE_BYTES_MIN, MAX_MESSAGE_BYTES_MAX),
    "Largest `max.message.bytes` that the cluster allows. If not set, `switchyard run` determines it " +
      "when the cluster rejects a topic.",
  ),
  sessionTimeout: setting(
    duration(6_000, 300_000),
    "10s",
    "Time without heartbeats after which a process loses its partitions.",
  ),
  createTopics: setting(
    flag(),
    true,
    "If `false`, `run` waits for missing topics instead of creating them.",
  ),
  startTimeout: setting(
    duration(0, 86_400_000),
    "60s",
    "Time for which a starting process waits for the brokers.",
  ),
});

export const logLevel = oneOf("debug", "info", "warn", "error");

/** Decodes the share of accepted attempts that are logged, from 0 to 1. */
export const logAttempts = text<number>("all, failures, or a share such as 1%", (given) => {
  if (given === "all") return value(1);
  if (given === "failures") return value(0);
  return testShare(given);
});
