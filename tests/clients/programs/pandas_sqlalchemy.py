"""Uses millstream's client through SQLAlchemy, pandas, polars and pyarrow: URL TOPIC → what they read, as JSON."""

import json
import sys
import time
from decimal import Decimal

import pandas
from sqlalchemy import MetaData, Table, create_engine, func, inspect, select, text
from sqlalchemy.dialects import registry

import millstream

ROWS = (
    (1, "it's", Decimal("1.50"), "2026-07-01T12:00:00.000"),
    (2, None, Decimal("2.25"), None),
    (3, "ü", None, None),
)
url, topic = sys.argv[1:]
registry.register("millstream", "millstream.client.sqlalchemy_dialect", "MillstreamDialect")
connection = millstream.connect(url, timeout=240)
connection.execute(
    f"CREATE TABLE {topic} (id BIGINT PRIMARY KEY, name STRING, price DECIMAL(6, 2), taken TIMESTAMP) "
    f"WITH (kafka_topic='{topic}', value_format='JSON');"
    f"CREATE TABLE {topic}_all AS SELECT * FROM {topic} EMIT CHANGES;"
)
database = create_engine(url.replace("http:", "millstream:"))
insert = text(f"INSERT INTO {topic} VALUES (:id, :name, :price, :taken)")
with database.connect() as opened:
    for row in ROWS:
        opened.execute(insert, dict(zip(("id", "name", "price", "taken"), row, strict=True)))
target = Table(f"{topic}_all".upper(), MetaData(), autoload_with=database)
deadline = time.monotonic() + 240
while time.monotonic() < deadline:
    with database.connect() as opened:
        rows = opened.execute(select(target).order_by(target.c.ID)).all()
    if len(rows) == 3:
        break
    time.sleep(0.1)
frame = pandas.read_sql(
    text(f"SELECT * FROM {topic}_all WHERE id >= :least ORDER BY id"), database, params={"least": 2}
)
with database.connect() as opened:
    counted = opened.execute(select(func.count(), func.sum(target.c.PRICE)).select_from(target)).one()
answer = {
    "tables": [name for name in inspect(database).get_table_names() if name.startswith(topic.upper())],
    "columns": {each["name"]: str(each["type"]) for each in inspect(database).get_columns(f"{topic}_all".upper())},
    "rows": [[str(value) for value in row] for row in rows],
    "frame": [[str(value) for value in row] for row in frame.itertuples(index=False)],
    "names": list(frame.columns),
    "counted": [str(value) for value in counted],
    "read_table": len(pandas.read_sql_table(f"{topic}_all".upper(), database)),
    "arrow": [str(field.type) for field in connection.query(f"SELECT * FROM {topic}_all;").to_arrow().schema],
    "polars": connection.query(f"SELECT price FROM {topic}_all;").to_polars()["PRICE"].sum().__str__(),
}
print(json.dumps(answer))
