"""Writes calls with confluent-kafka's own serializers.

usage: schema_producer.py BROKERS TOPIC REGISTRY FORMAT FRAMING CODECS COUNT

FORMAT: avro, json or protobuf
FRAMING: prefix, header-id or header-guid
CODECS: some of none,gzip,snappy,lz4,zstd: COUNT records by each

The same call as SchemaProducer.java writes, in schema-producers.ts as it arrives.
"""

import sys
from datetime import date, datetime, timezone
from decimal import Decimal

from confluent_kafka import Producer
from confluent_kafka.schema_registry import (
    SchemaRegistryClient,
    header_schema_id_serializer,
    prefix_schema_id_serializer,
    record_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

brokers, topic, registry, form, framing, codecs, count = sys.argv[1:8]


def header_id_serializer(payload, ctx, schema_id):
    """As the clients that put the 4-byte id into the header, and not the GUID."""
    ctx.headers.append(("__value_schema_id", schema_id.id_to_bytes()))
    return payload


FRAMINGS = {
    "prefix": prefix_schema_id_serializer,
    "header-id": header_id_serializer,
    "header-guid": header_schema_id_serializer,
}

MICROS = datetime(2026, 3, 1, 9, 30, 15, 250123, tzinfo=timezone.utc)


def call(message_id):
    return {
        "type": "track",
        "message_id": message_id,
        "user_id": "u1",
        "event": "Order Completed",
        "timestamp": MICROS,
        "properties": {
            "order_id": 9007199254740993,
            "total": Decimal("12.34"),
            "status": "PAID",
            "day": date(2026, 3, 1),
            "seen_at": MICROS,
            "note": None,
            "weights": {"a": 0.5, "b": float("nan")},
            "items": [{"sku": "s1", "quantity": 2}],
            "raw": b"\x00\xff",
            "either": 7,
        },
    }


def serializer(client):
    conf = {
        "auto.register.schemas": True,
        "subject.name.strategy": record_subject_name_strategy,
        "schema.id.serializer": FRAMINGS[framing],
    }
    if form == "avro":
        with open(sys.path[0] + "/order-completed.avsc", encoding="utf8") as file:
            return AvroSerializer(client, file.read(), conf=conf), call
    if form == "json":
        schema = '{"$schema": "http://json-schema.org/draft-07/schema#", "title": "OrderCompleted", "type": "object"}'
        return JSONSerializer(schema, client, conf=conf), lambda message_id: {
            "type": "track",
            "messageId": message_id,
            "userId": "u1",
            "event": "Order Completed",
            "properties": {"total": 12.34},
        }
    from google.protobuf.struct_pb2 import Struct

    def struct(message_id):
        message = Struct()
        message.update({"type": "track", "messageId": message_id})
        return message

    conf = {"use.deprecated.format": False, "auto.register.schemas": True}
    return ProtobufSerializer(Struct, client, conf), struct


client = SchemaRegistryClient({"url": registry})
serialize, make = serializer(client)
failed = []


def send(codec):
    producer = Producer(
        {
            "bootstrap.servers": brokers,
            "partitioner": "murmur2_random",
            "compression.type": codec,
            "linger.ms": 50,
        }
    )
    for index in range(int(count)):
        ctx = SerializationContext(topic, MessageField.VALUE, [])
        value = serialize(make(f"python-{form}-{framing}-{codec}-{index}"), ctx)
        producer.produce(
            topic,
            key="u1",
            value=value,
            headers=ctx.headers,
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )
    producer.flush(30)


for each in codecs.split(","):
    send(each)
sys.exit(1 if failed else 0)
