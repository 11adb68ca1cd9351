"""Uses the package ksqldb: URL TOPIC → what the server answered, as JSON."""

import asyncio
import json
import sys
import time
from typing import Any

import requests
from ksqldb import KSQLdbClient

url, topic = sys.argv[1:]
client = KSQLdbClient(url)
answer: dict[str, Any] = {"properties": [each["name"] for each in client.get_properties()]}
client.ksql(f"CREATE STREAM {topic} (id BIGINT, name STRING) WITH (kafka_topic='{topic}', value_format='JSON');")
answer["streams"] = [each["name"] for each in client.ksql("SHOW STREAMS;")[0]["streams"]]
rows = [{"ID": 1, "NAME": "ada"}, {"ID": 2, "NAME": "bob"}, {"ID": 3, "NAME": "ada"}]
answer["acks"] = [ack["status"] for ack in client.inserts_stream(topic.upper(), rows)]
counts = f"CREATE TABLE {topic}_counts AS SELECT name, COUNT(*) AS n FROM {topic} GROUP BY name EMIT CHANGES;"
answer["created"] = client.ksql(counts)[0]["commandStatus"]["status"]


async def three_rows() -> None:
    """Read a push query that has no end, and close it."""
    header, pushed = {}, []
    lines = client.query_async(
        f"SELECT id, name FROM {topic} EMIT CHANGES;", {"auto.offset.reset": "earliest"}, timeout=240
    )
    async for line in lines:
        if isinstance(line, dict) and not header:
            header = line
            continue
        pushed.append(line)
        if len(pushed) == 3:
            break
    answer["columns"], answer["pushed"] = header["columnNames"], pushed
    answer["closed"] = client.close_query(header["queryId"])
    await lines.aclose()


asyncio.run(three_rows())
pull, deadline = f"SELECT name, n FROM {topic}_counts WHERE name = 'ada';", time.monotonic() + 240
while True:
    _, *pulled = client.query_sync(pull, timeout=240)
    if pulled == [["ada", 2]] or time.monotonic() > deadline:
        break
    time.sleep(0.1)
answer["pulled"] = pulled[0]
try:
    client.ksql("DESCRIBE nowhere;")
except requests.HTTPError as error:
    body = error.response.json()
    answer["refused"] = [body["error_code"], body["message"]]
print(json.dumps(answer))
