CREATE STREAM s (k STRING KEY, v DOUBLE) WITH (kafka_topic='s', partitions=3, value_format='JSON', retention_ms=1000);
-- → Stream created
-- → create topic s with 3 partition(s)
-- → S (K STRING KEY, V DOUBLE)

CREATE STREAM IF NOT EXISTS orders (id BIGINT KEY, x INT) WITH (kafka_topic='orders', value_format='JSON');
-- → Cannot add stream 'ORDERS': A stream with the same name already exists.

CREATE STREAM big AS SELECT id, amount * 2 AS twice, place->city, place->zip + 1 FROM orders WHERE amount > 10 EMIT CHANGES;
-- → Created query with ID CSAS_BIG_0
-- → create topic BIG with 2 partition(s)
-- → start query CSAS_BIG_0
-- → BIG (ID BIGINT KEY, TWICE INTEGER, CITY STRING, KSQL_COL_0 INTEGER)
-- → Write STREAM BIG to topic BIG (key KAFKA, value JSON)
-- →   Select ID KEY, AMOUNT * 2 AS TWICE, PLACE->CITY AS CITY, PLACE->ZIP + 1 AS KSQL_COL_0
-- →     Filter AMOUNT > 10
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM big WITH (kafka_topic='big-topic', partitions=5, value_format='DELIMITED') AS SELECT id, item FROM orders;
-- → Created query with ID CSAS_BIG_0
-- → create topic big-topic with 5 partition(s)
-- → start query CSAS_BIG_0
-- → BIG (ID BIGINT KEY, ITEM STRING)
-- → Write STREAM BIG to topic big-topic (key KAFKA, value DELIMITED)
-- →   Select ID KEY, ITEM
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM moved AS SELECT * FROM orders PARTITION BY item;
-- → Created query with ID CSAS_MOVED_0
-- → create topic MOVED with 2 partition(s)
-- → start query CSAS_MOVED_0
-- → MOVED (ITEM STRING KEY, AMOUNT INTEGER, PRICE DECIMAL(6, 2), TAGS ARRAY<STRING>, PLACE STRUCT<`CITY` STRING, `ZIP` INTEGER>, PLACED TIMESTAMP, ID BIGINT)
-- → Write STREAM MOVED to topic MOVED (key KAFKA, value JSON)
-- →   Select ITEM KEY, AMOUNT, PRICE, TAGS, PLACE, PLACED, ID
-- →     Partition by ITEM
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM moved WITH (key_format='JSON') AS SELECT item, UCASE(item) AS loud, id FROM orders PARTITION BY item, UCASE(item);
-- → Created query with ID CSAS_MOVED_0
-- → create topic MOVED with 2 partition(s)
-- → start query CSAS_MOVED_0
-- → MOVED (ITEM STRING KEY, LOUD STRING KEY, ID BIGINT)
-- → Write STREAM MOVED to topic MOVED (key JSON, value JSON)
-- →   Select ITEM KEY, UCASE(ITEM) AS LOUD KEY, ID
-- →     Partition by ITEM, UCASE(ITEM)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM loose AS SELECT * FROM orders PARTITION BY NULL;
-- → Created query with ID CSAS_LOOSE_0
-- → create topic LOOSE with 2 partition(s)
-- → start query CSAS_LOOSE_0
-- → LOOSE (ITEM STRING, AMOUNT INTEGER, PRICE DECIMAL(6, 2), TAGS ARRAY<STRING>, PLACE STRUCT<`CITY` STRING, `ZIP` INTEGER>, PLACED TIMESTAMP, ID BIGINT)
-- → Write STREAM LOOSE to topic LOOSE (key NONE, value JSON)
-- →   Select ITEM, AMOUNT, PRICE, TAGS, PLACE, PLACED, ID
-- →     Partition by NULL
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM flat AS SELECT id, EXPLODE(tags) AS tag, amount FROM orders WHERE amount IS NOT NULL;
-- → Created query with ID CSAS_FLAT_0
-- → create topic FLAT with 2 partition(s)
-- → start query CSAS_FLAT_0
-- → FLAT (ID BIGINT KEY, TAG STRING, AMOUNT INTEGER)
-- → Write STREAM FLAT to topic FLAT (key KAFKA, value JSON)
-- →   Select ID KEY, EXPLODE(TAGS) AS TAG, AMOUNT
-- →     Flatten EXPLODE(TAGS)
-- →       Filter AMOUNT IS NOT NULL
-- →         Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE TABLE adults AS SELECT name, age FROM people WHERE age >= 18;
-- → Created query with ID CTAS_ADULTS_0
-- → create topic ADULTS with 2 partition(s)
-- → start query CTAS_ADULTS_0
-- → ADULTS (NAME STRING KEY, AGE INTEGER)
-- → Write TABLE ADULTS to topic ADULTS (key KAFKA, value DELIMITED)
-- →   Select NAME KEY, AGE
-- →     Filter AGE >= 18 (other rows become tombstones)
-- →       Read TABLE PEOPLE from topic people (key KAFKA, value DELIMITED)

INSERT INTO pairs WITH (query_id='mine') SELECT * FROM pairs;
-- → Created query with ID MINE
-- → start query MINE
-- → Write STREAM PAIRS to topic pairs (key JSON, value JSON)
-- →   Select A KEY, B KEY, V
-- →     Read STREAM PAIRS from topic pairs (key JSON, value JSON)

INSERT INTO orders (id, item, place) VALUES (1, 'x', STRUCT(city := 'Ulm', zip := 89073));
-- → ORDERS: ID, ITEM, AMOUNT, PRICE, TAGS, PLACE, PLACED

DELETE FROM people WHERE name IN ('ann', 'bob') OR name = 'eve';
-- → PEOPLE: keys 2 + 1

CREATE TABLE pairs_2 (a INT PRIMARY KEY, b BIGINT PRIMARY KEY, v STRING) WITH (kafka_topic='p2', partitions=1, format='JSON'); DELETE FROM pairs_2 WHERE a IN (1, 2, 1 + 2) AND (b = 3 OR pairs_2.b = 4);
-- → Table created
-- → create topic p2 with 1 partition(s)
-- → PAIRS_2 (A INTEGER KEY, B BIGINT KEY, V STRING)
-- → PAIRS_2: keys 3 × 1 + 3 × 1

CREATE OR REPLACE STREAM orders (id BIGINT KEY, item STRING, amount INT, price DECIMAL(6, 2), tags ARRAY<STRING>,
  place STRUCT<city STRING, zip INT>, placed TIMESTAMP, more INT) WITH (kafka_topic='orders', value_format='JSON');
-- → Stream replaced
-- → ORDERS (ID BIGINT KEY, ITEM STRING, AMOUNT INTEGER, PRICE DECIMAL(6, 2), TAGS ARRAY<STRING>, PLACE STRUCT<`CITY` STRING, `ZIP` INTEGER>, PLACED TIMESTAMP, MORE INTEGER)

ALTER STREAM orders ADD COLUMN extra MAP<STRING, INT>;
-- → Altered ORDERS
-- → ORDERS (ID BIGINT KEY, ITEM STRING, AMOUNT INTEGER, PRICE DECIMAL(6, 2), TAGS ARRAY<STRING>, PLACE STRUCT<`CITY` STRING, `ZIP` INTEGER>, PLACED TIMESTAMP, EXTRA MAP<STRING, INTEGER>)

CREATE TYPE address AS STRUCT<street STRING, city STRING>;
-- → Registered custom type with name 'ADDRESS' and SQL type STRUCT<`STREET` STRING, `CITY` STRING>

DROP STREAM IF EXISTS nothing;
-- → Source NOTHING does not exist.

DROP STREAM pairs DELETE TOPIC;
-- → Source PAIRS (topic: pairs) was dropped. Topic pairs was marked for deletion.
-- → delete topic pairs

SELECT id, ROWTIME, amount FROM orders WHERE price > 1.5 EMIT CHANGES LIMIT 3;
-- → Answer ID, ROWTIME, AMOUNT
-- →   Filter PRICE > 1.5
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE TABLE totals AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY item HAVING COUNT(*) > 1;
-- → Created query with ID CTAS_TOTALS_0
-- → create topic TOTALS with 2 partition(s)
-- → start query CTAS_TOTALS_0
-- → TOTALS (ITEM STRING KEY, N BIGINT, TOTAL INTEGER)
-- → Write TABLE TOTALS to topic TOTALS (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N, SUM(AMOUNT) AS TOTAL
-- →     Filter COUNT(*) > 1 (other rows become tombstones)
-- →       Group by ITEM in TUMBLING windows of 3600000 ms, grace 82800000 ms, emitted at each row: COUNT(*), SUM(AMOUNT)
-- →         Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM known AS SELECT o.item AS name, o.id, p.age FROM orders o LEFT JOIN people p ON o.item = p.name;
-- → Created query with ID CSAS_KNOWN_0
-- → create topic KNOWN with 2 partition(s)
-- → start query CSAS_KNOWN_0
-- → KNOWN (NAME STRING KEY, ID BIGINT, AGE INTEGER)
-- → Write STREAM KNOWN to topic KNOWN (key KAFKA, value JSON)
-- →   Select O.ITEM AS NAME KEY, ID, AGE
-- →     Join (LEFT) on O.ITEM = P.NAME; repartition of the left side by the join key
-- →       Select ID KEY, ID, ITEM
-- →         Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- →       Select NAME KEY, NAME, AGE
-- →         Read TABLE PEOPLE from topic people (key KAFKA, value DELIMITED)

CREATE STREAM met AS SELECT o.amount, o.item, p.v FROM orders o JOIN pairs p WITHIN 1 HOUR ON o.amount = p.b;
-- → Created query with ID CSAS_MET_0
-- → create topic MET with 2 partition(s)
-- → start query CSAS_MET_0
-- → MET (AMOUNT INTEGER KEY, ITEM STRING, V STRING)
-- → Write STREAM MET to topic MET (key KAFKA, value JSON)
-- →   Select AMOUNT KEY, ITEM, V
-- →     Join (INNER) on O.AMOUNT = P.B within 3600000 ms before, 3600000 ms after, grace 86400000 ms; repartition of the left and the right side by the join key
-- →       Select ID KEY, ITEM, AMOUNT
-- →         Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- →       Select A KEY, B KEY, B, V
-- →         Read STREAM PAIRS from topic pairs (key JSON, value JSON)

INSERT INTO wide SELECT id, amount, price, 1 AS one FROM orders;
-- → Created query with ID INSERTQUERY_0
-- → start query INSERTQUERY_0
-- → Write STREAM WIDE to topic wide (key KAFKA, value JSON)
-- →   Select ID KEY, AMOUNT, PRICE, 1 AS ONE
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
