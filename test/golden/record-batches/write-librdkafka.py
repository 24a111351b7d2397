"""Writes the batches of README.md with librdkafka, one topic for each compression."""

import sys

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

BASE = 1_700_000_000_000
RECORDS = [
    (0, b"user-1", b'{"type":"track"}', [("source", b"web")]),
    (1, None, b"no key", []),
    (2, b"tombstone", None, []),
    (3, None, None, [("only", b"headers")]),
    (
        5_000_000_000,
        b"headers",
        b"",
        [
            ("repeated", b"1"),
            ("repeated", b"2"),
            ("null", None),
            ("empty", b""),
            ("__proto__", b"harmless"),
            ("0", b"integer-like"),
            ("größe", "ünïcode".encode()),
        ],
    ),
    (-1000, b"big", b"0123456789" * 7000, []),
]

brokers, prefix = sys.argv[1:3]
codecs = ["none", "gzip", "snappy", "lz4", "zstd"]
admin = AdminClient({"bootstrap.servers": brokers})
topics = [NewTopic(prefix + codec, num_partitions=1, replication_factor=1) for codec in codecs]
for created in admin.create_topics(topics).values():
    created.result()
for codec in codecs:
    producer = Producer(
        {"bootstrap.servers": brokers, "compression.type": codec, "linger.ms": 1000}
    )
    for after, key, value, headers in RECORDS:
        producer.produce(
            prefix + codec,
            key=key,
            value=value,
            headers=headers,
            timestamp=BASE + after,
            partition=0,
        )
    producer.flush(30)
