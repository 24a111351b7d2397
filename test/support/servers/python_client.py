"""Sends the calls of standard input with one of the Python libraries.

usage: python_client.py MODULE ENDPOINT WRITE_KEY true|false

MODULE: segment.analytics.client, analytics.client or rudderstack.analytics.client
"""

import importlib
import json
import logging
import sys

module, endpoint, write_key, gzip = sys.argv[1:5]
Client = importlib.import_module(module).Client
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
