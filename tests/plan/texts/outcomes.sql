CREATE STREAM s (k STRING KEY, v DOUBLE) WITH (kafka_topic='s', partitions=3, value_format='JSON', retention_ms=1000);
-- → Stream created
-- → create topic s with 3 partition(s)
-- → S (K STRING KEY, V DOUBLE)

CREATE STREAM IF NOT EXISTS orders (id BIGINT KEY, x INT) WITH (kafka_topic='orders', value_format='JSON');
-- → Cannot add stream `ORDERS`: A stream with the same name already exists.

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

CREATE STREAM lines AS SELECT id, place->line_1, place->line_2, place->line_2, place->`_7` FROM (SELECT id, STRUCT(line_1 := amount, line_2 := amount, `_7` := 1) AS place FROM orders);
-- → Created query with ID CSAS_LINES_0
-- → create topic LINES with 2 partition(s)
-- → start query CSAS_LINES_0
-- → LINES (ID BIGINT KEY, LINE INTEGER, LINE_1 INTEGER, LINE_2 INTEGER, _7 INTEGER)
-- → Write STREAM LINES to topic LINES (key KAFKA, value JSON)
-- →   Select ID KEY, PLACE->LINE_1 AS LINE, PLACE->LINE_2 AS LINE_1, PLACE->LINE_2 AS LINE_2, PLACE->_7 AS _7
-- →     Select ID KEY, STRUCT(LINE_1 := AMOUNT, LINE_2 := AMOUNT, _7 := 1) AS PLACE
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM counted AS SELECT id, -amount, place->zip, amount + 1, amount + 2 FROM orders PARTITION BY amount + 1;
-- → Created query with ID CSAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CSAS_COUNTED_0
-- → COUNTED (KSQL_COL_1 INTEGER KEY, ID BIGINT, KSQL_COL_0 INTEGER, ZIP INTEGER, KSQL_COL_2 INTEGER)
-- → Write STREAM COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select AMOUNT + 1 AS KSQL_COL_1 KEY, ID, -AMOUNT AS KSQL_COL_0, PLACE->ZIP AS ZIP, AMOUNT + 2 AS KSQL_COL_2
-- →     Partition by AMOUNT + 1
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM counted WITH (key_format='JSON') AS SELECT amount + 1 AS item, item AS was, -amount, amount + 2 FROM orders PARTITION BY amount + 1, amount + 2;
-- → Created query with ID CSAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CSAS_COUNTED_0
-- → COUNTED (ITEM INTEGER KEY, KSQL_COL_1 INTEGER KEY, WAS STRING, KSQL_COL_0 INTEGER)
-- → Write STREAM COUNTED to topic COUNTED (key JSON, value JSON)
-- →   Select AMOUNT + 1 AS ITEM KEY, AMOUNT + 2 AS KSQL_COL_1 KEY, ITEM AS WAS, -AMOUNT AS KSQL_COL_0
-- →     Partition by AMOUNT + 1, AMOUNT + 2
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM counted WITH (key_format='JSON') AS SELECT *, -amount FROM orders PARTITION BY amount + 1, place->city;
-- → Created query with ID CSAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CSAS_COUNTED_0
-- → COUNTED (KSQL_COL_0 INTEGER KEY, CITY STRING KEY, ITEM STRING, AMOUNT INTEGER, PRICE DECIMAL(6, 2), TAGS ARRAY<STRING>, PLACE STRUCT<`CITY` STRING, `ZIP` INTEGER>, PLACED TIMESTAMP, ID BIGINT, KSQL_COL_1 INTEGER)
-- → Write STREAM COUNTED to topic COUNTED (key JSON, value JSON)
-- →   Select KSQL_COL_0 KEY, CITY KEY, ITEM, AMOUNT, PRICE, TAGS, PLACE, PLACED, ID, -AMOUNT AS KSQL_COL_1
-- →     Partition by AMOUNT + 1, PLACE->CITY
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

INSERT INTO orders (id, amount, id, amount) VALUES (1, 2, 3, 4);
-- → ORDERS: ID = 3, ITEM, AMOUNT = 4, PRICE, TAGS, PLACE, PLACED

INSERT INTO orders (id, item, place) VALUES (1, 'x', STRUCT(city := 'Ulm', zip := 89073));
-- → ORDERS: ID = 1, ITEM = x, AMOUNT, PRICE, TAGS, PLACE, PLACED

DELETE FROM people WHERE name IN ('ann', 'bob') OR name = 'eve';
-- → PEOPLE: keys 2 + 1

CREATE TABLE pairs_2 (a INT PRIMARY KEY, b BIGINT PRIMARY KEY, v STRING) WITH (kafka_topic='p2', partitions=1, format='JSON'); DELETE FROM pairs_2 WHERE a IN (1, 2, 1 + 2) AND (b = 3 OR pairs_2.b = 4);
-- → Table created
-- → create topic p2 with 1 partition(s)
-- → PAIRS_2 (A INTEGER KEY, B BIGINT KEY, V STRING)
-- → PAIRS_2: keys 3 × 1 + 3 × 1

CREATE OR REPLACE STREAM pairs (a INT KEY, b INT KEY, c INT KEY, v STRING) WITH (kafka_topic='pairs', partitions=2, format='JSON');
-- → Stream replaced
-- → create topic pairs with 2 partition(s)
-- → PAIRS (A INTEGER KEY, B INTEGER KEY, C INTEGER KEY, V STRING)

CREATE TABLE lines (a INT PRIMARY KEY, v INT) WITH (kafka_topic='lines', partitions=1, format='DELIMITED'); CREATE OR REPLACE TABLE lines (a INT PRIMARY KEY, b INT PRIMARY KEY, v INT, w INT) WITH (kafka_topic='lines', partitions=1, format='DELIMITED');
-- → Table created
-- → create topic lines with 1 partition(s)
-- → LINES (A INTEGER KEY, V INTEGER)
-- → Table replaced
-- → create topic lines with 1 partition(s)
-- → LINES (A INTEGER KEY, B INTEGER KEY, V INTEGER, W INTEGER)

CREATE OR REPLACE STREAM orders (id BIGINT KEY, item STRING, amount INT, price DECIMAL(6, 2), tags ARRAY<STRING>,
  place STRUCT<city STRING, zip INT>, placed TIMESTAMP, more INT) WITH (kafka_topic='orders', value_format='JSON');
-- → Stream replaced
-- → ORDERS (ID BIGINT KEY, ITEM STRING, AMOUNT INTEGER, PRICE DECIMAL(6, 2), TAGS ARRAY<STRING>, PLACE STRUCT<`CITY` STRING, `ZIP` INTEGER>, PLACED TIMESTAMP, MORE INTEGER)

ALTER STREAM orders ADD COLUMN extra MAP<STRING, INT>;
-- → Stream ORDERS altered.
-- → ORDERS (ID BIGINT KEY, ITEM STRING, AMOUNT INTEGER, PRICE DECIMAL(6, 2), TAGS ARRAY<STRING>, PLACE STRUCT<`CITY` STRING, `ZIP` INTEGER>, PLACED TIMESTAMP, EXTRA MAP<STRING, INTEGER>)

CREATE TYPE address AS STRUCT<street STRING, city STRING>;
-- → Registered custom type with name 'ADDRESS' and SQL type STRUCT<`STREET` STRING, `CITY` STRING>

DROP STREAM IF EXISTS nothing;
-- → Source NOTHING does not exist.

DROP STREAM pairs DELETE TOPIC;
-- → Source PAIRS (topic: pairs) was dropped. Topic pairs was marked for deletion.
-- → delete topic pairs

SELECT ROWTIME AS ROWTIME, id FROM orders EMIT CHANGES;
-- → Answer ROWTIME, ID
-- →   Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

SELECT COUNT(*), WINDOWSTART FROM orders WINDOW TUMBLING (SIZE 1 HOUR) EMIT CHANGES;
-- → Answer COUNT(*) AS KSQL_COL_0, WINDOWSTART
-- →   Group by TRUE in TUMBLING windows of 3600000 ms, grace 82800000 ms, emitted at each row: COUNT(*)
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

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

CREATE STREAM bare (v INT) WITH (kafka_topic='bare', partitions=1, key_format='NONE', value_format='KAFKA', wrap_single_value=false);
-- → Stream created
-- → create topic bare with 1 partition(s)
-- → BARE (V INTEGER)

CREATE STREAM line (v INT) WITH (kafka_topic='line', partitions=1, value_format='DELIMITED', wrap_single_value='false');
-- → Stream created
-- → create topic line with 1 partition(s)
-- → LINE (V INTEGER)

CREATE STREAM bought AS SELECT o.id, orders.item FROM orders AS o;
-- → Created query with ID CSAS_BOUGHT_0
-- → create topic BOUGHT with 2 partition(s)
-- → start query CSAS_BOUGHT_0
-- → BOUGHT (ID BIGINT KEY, ITEM STRING)
-- → Write STREAM BOUGHT to topic BOUGHT (key KAFKA, value JSON)
-- →   Select ID KEY, ITEM
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM replicated (v INT) WITH (kafka_topic='orders', value_format='JSON', replicas=-1);
-- → Stream created
-- → REPLICATED (V INTEGER)

CREATE STREAM timed (k STRING KEY, `seen` BIGINT) WITH (kafka_topic='orders', value_format='JSON', timestamp='"seen"');
-- → Stream created
-- → TIMED (K STRING KEY, `seen` BIGINT)

CREATE STREAM timed (k STRING KEY, `it``s` BIGINT) WITH (kafka_topic='orders', value_format='JSON', timestamp='`it``s`');
-- → Stream created
-- → TIMED (K STRING KEY, `it``s` BIGINT)

CREATE STREAM untimed (k STRING KEY, seen STRING) WITH (kafka_topic='orders', value_format='JSON', timestamp_format='yyyy-MM-dd');
-- → Stream created
-- → UNTIMED (K STRING KEY, SEEN STRING)

CREATE STREAM raw (v INT, x INT) WITH (kafka_topic='orders', format='JSON'); CREATE STREAM s WITH (format='JSON') AS SELECT v, x FROM raw; CREATE TABLE c AS SELECT v, x, COUNT(*) AS n FROM s GROUP BY v, x;
-- → Stream created
-- → RAW (V INTEGER, X INTEGER)
-- → Created query with ID CSAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CSAS_S_0
-- → S (V INTEGER, X INTEGER)
-- → Write STREAM S to topic S (key JSON, value JSON)
-- →   Select V, X
-- →     Read STREAM RAW from topic orders (key JSON, value JSON)
-- → Created query with ID CTAS_C_1
-- → create topic C with 1 partition(s)
-- → start query CTAS_C_1
-- → C (V INTEGER KEY, X INTEGER KEY, N BIGINT)
-- → Write TABLE C to topic C (key JSON, value JSON)
-- →   Select V KEY, X KEY, COUNT(*) AS N
-- →     Group by V, X: COUNT(*)
-- →       Read STREAM S from topic S (key JSON, value JSON)

CREATE STREAM s WITH (key_format='NONE') AS SELECT * FROM orders PARTITION BY NULL;
-- → Created query with ID CSAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CSAS_S_0
-- → S (ITEM STRING, AMOUNT INTEGER, PRICE DECIMAL(6, 2), TAGS ARRAY<STRING>, PLACE STRUCT<`CITY` STRING, `ZIP` INTEGER>, PLACED TIMESTAMP, ID BIGINT)
-- → Write STREAM S to topic S (key NONE, value JSON)
-- →   Select ITEM, AMOUNT, PRICE, TAGS, PLACE, PLACED, ID
-- →     Partition by NULL
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM bare (id BIGINT, v INT) WITH (kafka_topic='bare', partitions=2, key_format='NONE', value_format='JSON'); CREATE STREAM keyed (id BIGINT KEY, x INT) WITH (kafka_topic='keyed', partitions=2, format='JSON'); CREATE STREAM joined AS SELECT b.id, v, x FROM bare b JOIN keyed k WITHIN 1 HOUR ON b.id = k.id;
-- → Stream created
-- → create topic bare with 2 partition(s)
-- → BARE (ID BIGINT, V INTEGER)
-- → Stream created
-- → create topic keyed with 2 partition(s)
-- → KEYED (ID BIGINT KEY, X INTEGER)
-- → Created query with ID CSAS_JOINED_0
-- → create topic JOINED with 1 partition(s)
-- → start query CSAS_JOINED_0
-- → JOINED (B_ID BIGINT KEY, V INTEGER, X INTEGER)
-- → Write STREAM JOINED to topic JOINED (key KAFKA, value JSON)
-- →   Select B.ID AS B_ID KEY, V, X
-- →     Join (INNER) on B.ID = K.ID within 3600000 ms before, 3600000 ms after, grace 86400000 ms; repartition of the left side by the join key
-- →       Select ID, V
-- →         Read STREAM BARE from topic bare (key NONE, value JSON)
-- →       Select ID KEY, ID, X
-- →         Read STREAM KEYED from topic keyed (key JSON, value JSON)

CREATE STREAM big AS SELECT * FROM orders; TERMINATE CSAS_BIG_0; DROP STREAM big; DROP STREAM orders;
-- → Created query with ID CSAS_BIG_0
-- → create topic BIG with 2 partition(s)
-- → start query CSAS_BIG_0
-- → BIG (ID BIGINT KEY, ITEM STRING, AMOUNT INTEGER, PRICE DECIMAL(6, 2), TAGS ARRAY<STRING>, PLACE STRUCT<`CITY` STRING, `ZIP` INTEGER>, PLACED TIMESTAMP)
-- → Write STREAM BIG to topic BIG (key KAFKA, value JSON)
-- →   Select ID KEY, ITEM, AMOUNT, PRICE, TAGS, PLACE, PLACED
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Query terminated.
-- → stop query CSAS_BIG_0
-- → Source BIG (topic: BIG) was dropped.
-- → Source ORDERS (topic: orders) was dropped.

INSERT INTO wide SELECT id, amount, price, 1 AS one FROM orders; TERMINATE ALL; DROP STREAM orders;
-- → Created query with ID INSERTQUERY_0
-- → start query INSERTQUERY_0
-- → Write STREAM WIDE to topic wide (key KAFKA, value JSON)
-- →   Select ID KEY, AMOUNT, PRICE, 1 AS ONE
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → All queries terminated.
-- → stop query INSERTQUERY_0
-- → Source ORDERS (topic: orders) was dropped.

INSERT INTO late_key VALUES ('a', 1);
-- → LATE_KEY: K = a, V = 1

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY item; CREATE OR REPLACE TABLE counted AS SELECT item, COUNT(*) AS n, COUNT(*) + 1 AS m FROM orders WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 1 DAY) WHERE amount > 1 GROUP BY item HAVING COUNT(*) > 2;
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM in TUMBLING windows of 3600000 ms, grace 82800000 ms, emitted at each row: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Created query with ID CTAS_COUNTED_0; its windows go on with what they hold: COUNT(*) by ITEM in TUMBLING windows
-- → pause query CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT, M BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N, COUNT(*) + 1 AS M
-- →     Filter COUNT(*) > 2 (other rows become tombstones)
-- →       Group by ITEM in TUMBLING windows of 3600000 ms, grace 86400000 ms, emitted at each row: COUNT(*)
-- →         Filter AMOUNT > 1
-- →           Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders WHERE amount > 1 GROUP BY item;
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Created query with ID CTAS_COUNTED_0; its groups go on with what they hold: COUNT(*) by ITEM
-- → pause query CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Filter AMOUNT > 1
-- →         Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY item; CREATE OR REPLACE TABLE counted AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY item;
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM in TUMBLING windows of 3600000 ms, grace 82800000 ms, emitted at each row: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → line 1:109: Cannot replace table COUNTED: its aggregates cannot change
-- →   hint: it has COUNT(*); WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 1 MINUTE) GROUP BY item; CREATE OR REPLACE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 2 MINUTES) GROUP BY item;
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM in HOPPING windows of 3600000 ms, advance 60000 ms, grace 82800000 ms, emitted at each row: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → line 1:129: Cannot replace table COUNTED: its window cannot change
-- →   hint: it has HOPPING of 3600000 ms every 60000 ms; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY item; CREATE OR REPLACE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY item EMIT FINAL;
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM in TUMBLING windows of 3600000 ms, grace 82800000 ms, emitted at each row: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → line 1:109: Cannot replace table COUNTED: its window cannot change
-- →   hint: it has TUMBLING of 3600000 ms; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE TABLE adults AS SELECT name, age FROM people WHERE age >= 18; CREATE OR REPLACE TABLE adults AS SELECT name, age FROM people WHERE age >= 21;
-- → Created query with ID CTAS_ADULTS_0
-- → create topic ADULTS with 2 partition(s)
-- → start query CTAS_ADULTS_0
-- → ADULTS (NAME STRING KEY, AGE INTEGER)
-- → Write TABLE ADULTS to topic ADULTS (key KAFKA, value DELIMITED)
-- →   Select NAME KEY, AGE
-- →     Filter AGE >= 18 (other rows become tombstones)
-- →       Read TABLE PEOPLE from topic people (key KAFKA, value DELIMITED)
-- → Created query with ID CTAS_ADULTS_0
-- → pause query CTAS_ADULTS_0
-- → create topic ADULTS with 2 partition(s)
-- → start query CTAS_ADULTS_0
-- → ADULTS (NAME STRING KEY, AGE INTEGER)
-- → Write TABLE ADULTS to topic ADULTS (key KAFKA, value DELIMITED)
-- →   Select NAME KEY, AGE
-- →     Filter AGE >= 21 (other rows become tombstones)
-- →       Read TABLE PEOPLE from topic people (key KAFKA, value DELIMITED)

CREATE TABLE adults AS SELECT name, age FROM people WHERE age >= 18; CREATE OR REPLACE TABLE adults AS SELECT name, age FROM people;
-- → Created query with ID CTAS_ADULTS_0
-- → create topic ADULTS with 2 partition(s)
-- → start query CTAS_ADULTS_0
-- → ADULTS (NAME STRING KEY, AGE INTEGER)
-- → Write TABLE ADULTS to topic ADULTS (key KAFKA, value DELIMITED)
-- →   Select NAME KEY, AGE
-- →     Filter AGE >= 18 (other rows become tombstones)
-- →       Read TABLE PEOPLE from topic people (key KAFKA, value DELIMITED)
-- → line 1:70: Cannot replace table ADULTS: a WHERE over a table can be changed, but not added or removed
-- →   hint: it has AGE >= 18; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE TABLE adults AS SELECT name, age FROM people; CREATE OR REPLACE TABLE adults AS SELECT name, age FROM people WHERE age >= 21;
-- → Created query with ID CTAS_ADULTS_0
-- → create topic ADULTS with 2 partition(s)
-- → start query CTAS_ADULTS_0
-- → ADULTS (NAME STRING KEY, AGE INTEGER)
-- → Write TABLE ADULTS to topic ADULTS (key KAFKA, value DELIMITED)
-- →   Select NAME KEY, AGE
-- →     Read TABLE PEOPLE from topic people (key KAFKA, value DELIMITED)
-- → line 1:54: Cannot replace table ADULTS: a WHERE over a table can be changed, but not added or removed
-- →   hint: it has none; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE TABLE ages AS SELECT age, COUNT(*) AS n FROM people GROUP BY age; CREATE OR REPLACE TABLE ages AS SELECT age, COUNT(*) AS n FROM people WHERE age > 18 GROUP BY age;
-- → Created query with ID CTAS_AGES_0
-- → create topic AGES with 2 partition(s)
-- → start query CTAS_AGES_0
-- → AGES (AGE INTEGER KEY, N BIGINT)
-- → Write TABLE AGES to topic AGES (key KAFKA, value DELIMITED)
-- →   Select AGE KEY, COUNT(*) AS N
-- →     Group by AGE: COUNT(*)
-- →       Read TABLE PEOPLE from topic people (key KAFKA, value DELIMITED)
-- → Created query with ID CTAS_AGES_0; its groups go on with what they hold: COUNT(*) by AGE
-- → pause query CTAS_AGES_0
-- → create topic AGES with 2 partition(s)
-- → start query CTAS_AGES_0
-- → AGES (AGE INTEGER KEY, N BIGINT)
-- → Write TABLE AGES to topic AGES (key KAFKA, value DELIMITED)
-- →   Select AGE KEY, COUNT(*) AS N
-- →     Group by AGE: COUNT(*)
-- →       Filter AGE > 18 (other rows become tombstones)
-- →         Read TABLE PEOPLE from topic people (key KAFKA, value DELIMITED)

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted WITH (rebuild=true) AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY item; ALTER TABLE counted CUT OVER; CREATE OR REPLACE TABLE counted AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders WHERE amount > 0 GROUP BY item;
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Created query with ID CTAS_COUNTED_1; it rebuilds COUNTED as COUNTED_1 (topic COUNTED_1), and COUNTED is cut over to it when it has caught up
-- → create topic COUNTED_1 with 2 partition(s)
-- → start query CTAS_COUNTED_1
-- → COUNTED_1 (ITEM STRING KEY, N BIGINT, TOTAL INTEGER)
-- → Write TABLE COUNTED_1 to topic COUNTED_1 (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N, SUM(AMOUNT) AS TOTAL
-- →     Group by ITEM: COUNT(*), SUM(AMOUNT)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → COUNTED is written by CTAS_COUNTED_1 now, into topic COUNTED_1. The topic COUNTED stays, without a query.
-- → stop query CTAS_COUNTED_0
-- → query CTAS_COUNTED_1 writes COUNTED
-- → COUNTED (ITEM STRING KEY, N BIGINT, TOTAL INTEGER)
-- → Created query with ID CTAS_COUNTED_1; its groups go on with what they hold: COUNT(*), SUM(AMOUNT) by ITEM
-- → pause query CTAS_COUNTED_1
-- → create topic COUNTED_1 with 2 partition(s)
-- → start query CTAS_COUNTED_1
-- → COUNTED (ITEM STRING KEY, N BIGINT, TOTAL INTEGER)
-- → Write TABLE COUNTED to topic COUNTED_1 (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N, SUM(AMOUNT) AS TOTAL
-- →     Group by ITEM: COUNT(*), SUM(AMOUNT)
-- →       Filter AMOUNT > 0
-- →         Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM late AS SELECT id, item, amount FROM orders; CREATE OR REPLACE STREAM late WITH (rebuild=true, kafka_topic='later', partitions=3) AS SELECT amount AS id, item FROM orders PARTITION BY amount; ALTER STREAM late CUT OVER;
-- → Created query with ID CSAS_LATE_0
-- → create topic LATE with 2 partition(s)
-- → start query CSAS_LATE_0
-- → LATE (ID BIGINT KEY, ITEM STRING, AMOUNT INTEGER)
-- → Write STREAM LATE to topic LATE (key KAFKA, value JSON)
-- →   Select ID KEY, ITEM, AMOUNT
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Created query with ID CSAS_LATE_1; it rebuilds LATE as LATE_1 (topic later), and LATE is cut over to it when it has caught up
-- → create topic later with 3 partition(s)
-- → start query CSAS_LATE_1
-- → LATE_1 (ID INTEGER KEY, ITEM STRING)
-- → Write STREAM LATE_1 to topic later (key KAFKA, value JSON)
-- →   Select AMOUNT AS ID KEY, ITEM
-- →     Partition by AMOUNT
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → LATE is written by CSAS_LATE_1 now, into topic later. The topic LATE stays, without a query.
-- → stop query CSAS_LATE_0
-- → query CSAS_LATE_1 writes LATE
-- → LATE (ID INTEGER KEY, ITEM STRING)

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted WITH (rebuild=true) AS SELECT item, COUNT(*) AS n FROM orders WHERE amount > 0 GROUP BY item;
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Created query with ID CTAS_COUNTED_0; its groups go on with what they hold: COUNT(*) by ITEM
-- → pause query CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Filter AMOUNT > 0
-- →         Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted WITH (rebuild=true) AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY item; DROP TABLE counted_1 DELETE TOPIC; ALTER TABLE counted CUT OVER;
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Created query with ID CTAS_COUNTED_1; it rebuilds COUNTED as COUNTED_1 (topic COUNTED_1), and COUNTED is cut over to it when it has caught up
-- → create topic COUNTED_1 with 2 partition(s)
-- → start query CTAS_COUNTED_1
-- → COUNTED_1 (ITEM STRING KEY, N BIGINT, TOTAL INTEGER)
-- → Write TABLE COUNTED_1 to topic COUNTED_1 (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N, SUM(AMOUNT) AS TOTAL
-- →     Group by ITEM: COUNT(*), SUM(AMOUNT)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Source COUNTED_1 (topic: COUNTED_1) was dropped. Topic COUNTED_1 was marked for deletion.
-- → stop query CTAS_COUNTED_1
-- → delete topic COUNTED_1
-- → COUNTED is not being rebuilt: there is nothing to cut over to.

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted WITH (rebuild=true) AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY item; TERMINATE CTAS_COUNTED_1; ALTER TABLE counted CUT OVER;
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Created query with ID CTAS_COUNTED_1; it rebuilds COUNTED as COUNTED_1 (topic COUNTED_1), and COUNTED is cut over to it when it has caught up
-- → create topic COUNTED_1 with 2 partition(s)
-- → start query CTAS_COUNTED_1
-- → COUNTED_1 (ITEM STRING KEY, N BIGINT, TOTAL INTEGER)
-- → Write TABLE COUNTED_1 to topic COUNTED_1 (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N, SUM(AMOUNT) AS TOTAL
-- →     Group by ITEM: COUNT(*), SUM(AMOUNT)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Query terminated.
-- → stop query CTAS_COUNTED_1
-- → COUNTED is not being rebuilt: there is nothing to cut over to.

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted WITH (rebuild=true) AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY item; PAUSE CTAS_COUNTED_1; ALTER TABLE counted CUT OVER IF RUNNING; RESUME CTAS_COUNTED_1; ALTER TABLE counted CUT OVER IF RUNNING;
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Created query with ID CTAS_COUNTED_1; it rebuilds COUNTED as COUNTED_1 (topic COUNTED_1), and COUNTED is cut over to it when it has caught up
-- → create topic COUNTED_1 with 2 partition(s)
-- → start query CTAS_COUNTED_1
-- → COUNTED_1 (ITEM STRING KEY, N BIGINT, TOTAL INTEGER)
-- → Write TABLE COUNTED_1 to topic COUNTED_1 (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N, SUM(AMOUNT) AS TOTAL
-- →     Group by ITEM: COUNT(*), SUM(AMOUNT)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Query paused.
-- → pause query CTAS_COUNTED_1
-- → CTAS_COUNTED_1, which rebuilds COUNTED, is paused: it is not cut over to.
-- → Query resumed.
-- → resume query CTAS_COUNTED_1
-- → COUNTED is written by CTAS_COUNTED_1 now, into topic COUNTED_1. The topic COUNTED stays, without a query.
-- → stop query CTAS_COUNTED_0
-- → query CTAS_COUNTED_1 writes COUNTED
-- → COUNTED (ITEM STRING KEY, N BIGINT, TOTAL INTEGER)

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted WITH (rebuild=true) AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY item; TERMINATE CTAS_COUNTED_0; ALTER TABLE counted CUT OVER; DROP TABLE counted;
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Created query with ID CTAS_COUNTED_1; it rebuilds COUNTED as COUNTED_1 (topic COUNTED_1), and COUNTED is cut over to it when it has caught up
-- → create topic COUNTED_1 with 2 partition(s)
-- → start query CTAS_COUNTED_1
-- → COUNTED_1 (ITEM STRING KEY, N BIGINT, TOTAL INTEGER)
-- → Write TABLE COUNTED_1 to topic COUNTED_1 (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N, SUM(AMOUNT) AS TOTAL
-- →     Group by ITEM: COUNT(*), SUM(AMOUNT)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Query terminated.
-- → stop query CTAS_COUNTED_0
-- → COUNTED is written by CTAS_COUNTED_1 now, into topic COUNTED_1. The topic COUNTED stays, without a query.
-- → query CTAS_COUNTED_1 writes COUNTED
-- → COUNTED (ITEM STRING KEY, N BIGINT, TOTAL INTEGER)
-- → Source COUNTED (topic: COUNTED_1) was dropped.
-- → stop query CTAS_COUNTED_1

CREATE TABLE counted AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY item; CREATE INDEX by_total ON counted (total); CREATE INDEX IF NOT EXISTS by_total ON counted (n); DROP INDEX by_total; DROP INDEX IF EXISTS by_total;
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT, TOTAL INTEGER)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N, SUM(AMOUNT) AS TOTAL
-- →     Group by ITEM: COUNT(*), SUM(AMOUNT)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Index BY_TOTAL created on COUNTED (TOTAL)
-- → Index BY_TOTAL already exists: it is on COUNTED (TOTAL)
-- → Index BY_TOTAL dropped
-- → Index BY_TOTAL does not exist

CREATE TABLE counted AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY item; CREATE INDEX by_both ON counted (total, item); CREATE INDEX by_n ON counted (n); CREATE OR REPLACE TABLE counted WITH (rebuild=true) AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE INDEX by_n ON counted (n);
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT, TOTAL INTEGER)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N, SUM(AMOUNT) AS TOTAL
-- →     Group by ITEM: COUNT(*), SUM(AMOUNT)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Index BY_BOTH created on COUNTED (TOTAL, ITEM)
-- → Index BY_N created on COUNTED (N)
-- → Created query with ID CTAS_COUNTED_1; it rebuilds COUNTED as COUNTED_1 (topic COUNTED_1), and COUNTED is cut over to it when it has caught up
-- → create topic COUNTED_1 with 2 partition(s)
-- → start query CTAS_COUNTED_1
-- → COUNTED_1 (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED_1 to topic COUNTED_1 (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → line 1:291: Index BY_N already exists: it is on COUNTED (N)
-- →   hint: DROP INDEX it first, or choose another name

CREATE TABLE counted AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY item; CREATE INDEX by_both ON counted (total, item); CREATE INDEX by_n ON counted (n); CREATE OR REPLACE TABLE counted WITH (rebuild=true) AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; ALTER TABLE counted CUT OVER; DROP INDEX by_n; DROP INDEX by_both;
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT, TOTAL INTEGER)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N, SUM(AMOUNT) AS TOTAL
-- →     Group by ITEM: COUNT(*), SUM(AMOUNT)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Index BY_BOTH created on COUNTED (TOTAL, ITEM)
-- → Index BY_N created on COUNTED (N)
-- → Created query with ID CTAS_COUNTED_1; it rebuilds COUNTED as COUNTED_1 (topic COUNTED_1), and COUNTED is cut over to it when it has caught up
-- → create topic COUNTED_1 with 2 partition(s)
-- → start query CTAS_COUNTED_1
-- → COUNTED_1 (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED_1 to topic COUNTED_1 (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → COUNTED is written by CTAS_COUNTED_1 now, into topic COUNTED_1. The topic COUNTED stays, without a query.
-- → stop query CTAS_COUNTED_0
-- → query CTAS_COUNTED_1 writes COUNTED
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Index BY_N dropped
-- → line 1:338: Index BY_BOTH does not exist

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE INDEX by_n ON counted (n); DROP TABLE counted; DROP INDEX by_n;
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Index BY_N created on COUNTED (N)
-- → Source COUNTED (topic: COUNTED) was dropped.
-- → stop query CTAS_COUNTED_0
-- → line 1:133: Index BY_N does not exist

INSERT INTO late_key SELECT item AS k, amount AS v FROM orders PARTITION BY item;
-- → Created query with ID INSERTQUERY_0
-- → start query INSERTQUERY_0
-- → Write STREAM LATE_KEY to topic late (key KAFKA, value JSON)
-- →   Select ITEM AS K KEY, AMOUNT AS V
-- →     Partition by ITEM
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM unnamed AS SELECT id, amount + 1 AS "" FROM orders;
-- → Created query with ID CSAS_UNNAMED_0
-- → create topic UNNAMED with 2 partition(s)
-- → start query CSAS_UNNAMED_0
-- → UNNAMED (ID BIGINT KEY, `` INTEGER)
-- → Write STREAM UNNAMED to topic UNNAMED (key KAFKA, value JSON)
-- →   Select ID KEY, AMOUNT + 1 AS ``
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM bare (`my-key` STRING KEY, v INT) WITH (kafka_topic='bare', partitions=1, format='AVRO');
-- → Stream created
-- → create topic bare with 1 partition(s)
-- → register a schema for bare-key
-- → register a schema for bare-value
-- → BARE (`my-key` STRING KEY, V INTEGER)

CREATE STREAM bare (`my-key` STRING KEY, v INT) WITH (kafka_topic='bare', partitions=1, format='AVRO', wrap_single_key=true);
-- → line 1:89: Key format does not support schema: Schema is not compatible with Avro: Illegal character in: my-key
-- →   hint: KEY_FORMAT may be DELIMITED, JSON, JSON_SR, KAFKA

CREATE TABLE s WITH (state_ttl='7 days') AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item;
-- → Created query with ID CTAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CTAS_S_0
-- → S (ITEM STRING KEY, N BIGINT)
-- → Write TABLE S to topic S (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM, kept for 604800000 ms without rows: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE TABLE s WITH (state_ttl='1 HOUR') AS SELECT n, COUNT(*) AS k FROM (SELECT item, COUNT(*) AS n FROM orders GROUP BY item) GROUP BY n;
-- → Created query with ID CTAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CTAS_S_0
-- → S (N BIGINT KEY, K BIGINT)
-- → Write TABLE S to topic S (key KAFKA, value JSON)
-- →   Select N KEY, COUNT(*) AS K
-- →     Group by N: COUNT(*)
-- →       Select ITEM KEY, COUNT(*) AS N
-- →         Group by ITEM, kept for 3600000 ms without rows: COUNT(*)
-- →           Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE TABLE s WITH (state_ttl='0 DAYS') AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item;
-- → line 1:22: STATE_TTL must be a duration, such as '7 DAYS'

CREATE TABLE s WITH (state_ttl='soon') AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item;
-- → line 1:22: STATE_TTL must be a duration, such as '7 DAYS'

CREATE TABLE s WITH (state_ttl=7) AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item;
-- → line 1:22: STATE_TTL must be a duration, such as '7 DAYS'

CREATE TABLE s WITH (state_ttl='1 DAY') AS SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY item;
-- → line 1:22: STATE_TTL is for the groups of a stream without a window, for SELECT DISTINCT, and for OVER
-- →   hint: windows have RETENTION and GRACE PERIOD, OVER with RANGE has GRACE PERIOD

CREATE TABLE s WITH (state_ttl='1 DAY') AS SELECT age, COUNT(*) AS n FROM people GROUP BY age;
-- → line 1:22: STATE_TTL is for the groups of a stream without a window, for SELECT DISTINCT, and for OVER
-- →   hint: rows that leave a group of a table undo what it has counted

CREATE STREAM s WITH (state_ttl='1 DAY') AS SELECT id, item FROM orders;
-- → line 1:23: STATE_TTL is for the groups of a stream without a window, for SELECT DISTINCT, and for OVER
-- →   hint: windows have RETENTION and GRACE PERIOD, OVER with RANGE has GRACE PERIOD

CREATE STREAM s (id BIGINT KEY, item STRING) WITH (kafka_topic='s', value_format='JSON', partitions=1, state_ttl='1 DAY');
-- → line 1:104: Invalid config variable(s) in the WITH clause: STATE_TTL

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 10 MINUTES, OFFSET 5 MINUTES) GROUP BY item;
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM in HOPPING windows of 3600000 ms, advance 600000 ms, offset 300000 ms, grace 82800000 ms, emitted at each row: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
