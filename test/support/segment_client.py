"""Sends the calls of standard input with segment-analytics-python.

usage: segment_client.py ENDPOINT WRITE_KEY true|false
"""

import json
import logging
import sys

from segment.analytics.client import Client

endpoint, write_key, gzip = sys.argv[1:4]
logging.disable(logging.CRITICAL)
client = Client(write_key, host=endpoint, gzip=gzip == "true", upload_interval=0.1)

NAMES = {
    "userId": "user_id",
    "anonymousId": "anonymous_id",
    "groupId": "group_id",
    "previousId": "previous_id",
    "messageId": "message_id",
}

for call in json.load(sys.stdin):
    method = getattr(client, call.pop("type"))
    method(**{NAMES.get(name, name): value for name, value in call.items()})
client.flush()
client.shutdown()
