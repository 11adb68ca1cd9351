"""Uses ksql-python-ng: URL TOPIC → what the server answered, as JSON."""

import json
import sys
import time

from ksql import KSQLAPI
from ksql.errors import KSQLError

url, topic = sys.argv[1:]
api = KSQLAPI(url, timeout=240)
answer: dict[str, object] = {"version": api.get_ksql_version()}
answer["properties"] = [each["name"] for each in api.get_properties()]
api.create_stream(topic, ["id bigint", "name string"], topic, value_format="JSON")
answer["streams"] = [each["name"] for each in api.ksql("SHOW STREAMS;")[0]["streams"]]
rows = [{"ID": 1, "NAME": "ada"}, {"ID": 2, "NAME": "bob"}, {"ID": 3, "NAME": "ada"}]
answer["acks"] = [ack["status"] for ack in api.inserts_stream(topic.upper(), rows)]
counts = f"CREATE TABLE {topic}_counts AS SELECT name, COUNT(*) AS n FROM {topic} GROUP BY name EMIT CHANGES;"
answer["created"] = api.ksql(counts)[0]["commandStatus"]["status"]

push = f"SELECT id, name FROM {topic} EMIT CHANGES LIMIT 3;"
lines = "".join(api.query(push, use_http2=True)).splitlines()
header, *pushed = map(json.loads, filter(None, lines))
answer["columns"], answer["pushed"] = header["columnNames"], pushed
two = f"SELECT id, name FROM {topic} EMIT CHANGES LIMIT 2;"
whole = json.loads("".join(api.query(two)))
answer["http1"] = [dict(zip(["ID", "NAME"], each["row"]["columns"], strict=True)) for each in whole if "row" in each]

pull, deadline = f"SELECT name, n FROM {topic}_counts WHERE name = 'ada';", time.monotonic() + 240
while True:
    _, *pulled = map(json.loads, filter(None, "".join(api.query(pull, use_http2=True)).splitlines()))
    if pulled == [["ada", 2]] or time.monotonic() > deadline:
        break
    time.sleep(0.1)
answer["pulled"] = pulled[0]
try:
    api.ksql("DESCRIBE nowhere;")
except KSQLError as error:
    answer["refused"] = [error.error_code, str(error.msg)]
print(json.dumps(answer))
