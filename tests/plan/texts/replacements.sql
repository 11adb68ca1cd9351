CREATE STREAM late AS SELECT id, item FROM orders WHERE amount > 1; CREATE OR REPLACE STREAM late AS SELECT id, item, amount * 2 AS twice FROM orders WHERE amount > 2;
-- → Replaces stream LATE in place
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: topic: LATE
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ID BIGINT
-- →   stays: columns: ITEM STRING
-- →   changes: WHERE: AMOUNT > 1 → AMOUNT > 2
-- →   changes: columns added: none → TWICE INTEGER

CREATE STREAM late AS SELECT id, amount + 1 AS n FROM orders; CREATE OR REPLACE STREAM late AS SELECT id, amount + 2 AS n FROM orders;
-- → Replaces stream LATE in place
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: topic: LATE
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ID BIGINT
-- →   stays: columns: N INTEGER
-- →   changes: column N: AMOUNT + 1 → AMOUNT + 2

CREATE STREAM late AS SELECT id, item FROM orders; CREATE OR REPLACE STREAM late AS SELECT id, item FROM orders;
-- → Replaces stream LATE in place
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: topic: LATE
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ID BIGINT
-- →   stays: columns: ITEM STRING

CREATE STREAM late AS SELECT id, item, amount FROM orders; CREATE OR REPLACE STREAM late AS SELECT id, amount FROM orders;
-- → Replaces stream LATE not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: topic: LATE
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ID BIGINT
-- →   needs a rebuild: columns: ITEM STRING, AMOUNT INTEGER → AMOUNT INTEGER (the records of its topic have the old form)
-- → line 1:60: Cannot upgrade data source: DataSource '`LATE`' has schema = `ID` BIGINT KEY, `ITEM` STRING, `AMOUNT` INTEGER which is not upgradeable to `ID` BIGINT KEY, `AMOUNT` INTEGER. (The following columns are changed, missing or reordered: [`ITEM` STRING, `AMOUNT` INTEGER])
-- →   hint: it has ITEM STRING, AMOUNT INTEGER; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE STREAM late AS SELECT id, item FROM orders; CREATE OR REPLACE STREAM late WITH (value_format='DELIMITED') AS SELECT id, item FROM orders;
-- → Replaces stream LATE not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: topic: LATE
-- →   stays: key format: KAFKA
-- →   stays: key columns: ID BIGINT
-- →   stays: columns: ITEM STRING
-- →   needs a rebuild: value format: JSON → DELIMITED (the records of its topic have the old form)
-- → line 1:52: Cannot upgrade data source: DataSource '`LATE`' has value format = JSON which is not upgradeable to DELIMITED
-- →   hint: it has JSON; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE STREAM late AS SELECT id, item FROM orders; CREATE OR REPLACE STREAM late WITH (kafka_topic='elsewhere') AS SELECT id, item FROM orders;
-- → Replaces stream LATE not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ID BIGINT
-- →   stays: columns: ITEM STRING
-- →   needs a rebuild: topic: LATE → elsewhere (the rows are in the old topic)
-- → line 1:52: Cannot upgrade data source: DataSource '`LATE`' has topic = LATE which is not upgradeable to elsewhere
-- →   hint: it has LATE; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE STREAM late AS SELECT id, amount FROM orders; CREATE OR REPLACE STREAM late AS SELECT id, amount FROM wide;
-- → Replaces stream LATE not in place: it needs a rebuild
-- →   stays: topic: LATE
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ID BIGINT
-- →   needs a rebuild: sources: STREAM ORDERS (topic orders) → STREAM WIDE (topic wide) (its positions are those of the old topics)
-- →   needs a rebuild: columns: AMOUNT INTEGER → AMOUNT DECIMAL(12, 2) (the records of its topic have the old form)
-- → line 1:54: Cannot replace stream LATE: its sources cannot change
-- →   hint: it has STREAM ORDERS (topic orders); WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE STREAM late AS SELECT id, amount FROM orders; CREATE STREAM others (id BIGINT KEY, amount INT) WITH (kafka_topic='others', partitions=1, value_format='JSON'); CREATE OR REPLACE STREAM late AS SELECT id, amount FROM others;
-- → Replaces stream LATE not in place: it needs a rebuild
-- →   stays: topic: LATE
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ID BIGINT
-- →   stays: columns: AMOUNT INTEGER
-- →   needs a rebuild: sources: STREAM ORDERS (topic orders) → STREAM OTHERS (topic others) (its positions are those of the old topics)
-- → line 1:167: Cannot replace stream LATE: its sources cannot change
-- →   hint: it has STREAM ORDERS (topic orders); WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE STREAM moved AS SELECT item, amount FROM orders PARTITION BY item; CREATE OR REPLACE STREAM moved AS SELECT item, id, amount FROM orders PARTITION BY item;
-- → Replaces stream MOVED not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: PARTITION BY: ITEM
-- →   stays: topic: MOVED
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   needs a rebuild: columns: AMOUNT INTEGER → ID BIGINT, AMOUNT INTEGER (the records of its topic have the old form)
-- → line 1:75: Cannot upgrade data source: DataSource '`MOVED`' has schema = `ITEM` STRING KEY, `AMOUNT` INTEGER which is not upgradeable to `ITEM` STRING KEY, `ID` BIGINT, `AMOUNT` INTEGER. (The following columns are changed, missing or reordered: [`AMOUNT` INTEGER])
-- →   hint: it has AMOUNT INTEGER; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE STREAM moved AS SELECT UCASE(item) AS k, amount FROM orders PARTITION BY UCASE(item); CREATE OR REPLACE STREAM moved AS SELECT LCASE(item) AS k, amount FROM orders PARTITION BY LCASE(item);
-- → Replaces stream MOVED not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: topic: MOVED
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: K STRING
-- →   stays: columns: AMOUNT INTEGER
-- →   needs a rebuild: PARTITION BY: UCASE(ITEM) → LCASE(ITEM) (rows that were written have keys of the old expression)
-- → line 1:94: Cannot replace stream MOVED: its PARTITION BY cannot change
-- →   hint: it has UCASE(ITEM); WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE STREAM parts AS SELECT id, EXPLODE(tags) AS tag FROM orders; CREATE OR REPLACE STREAM parts AS SELECT id, EXPLODE(ARRAY[item]) AS tag FROM orders;
-- → Replaces stream PARTS in place
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: topic: PARTS
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ID BIGINT
-- →   stays: columns: TAG STRING
-- →   changes: table functions: EXPLODE(TAGS) → EXPLODE(ARRAY[ITEM])
-- →   changes: column TAG: EXPLODE(TAGS) → EXPLODE(ARRAY[ITEM])

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted AS SELECT item, COUNT(*) AS n, COUNT(*) + 1 AS m FROM orders WHERE amount > 1 GROUP BY item HAVING COUNT(*) > 2;
-- → Replaces table COUNTED in place
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: GROUP BY: ITEM
-- →   stays: aggregates: COUNT(*)
-- →   stays: topic: COUNTED
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: N BIGINT
-- →   changes: WHERE: none → AMOUNT > 1
-- →   changes: HAVING: none → COUNT(*) > 2
-- →   changes: columns added: none → M BIGINT

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY item;
-- → Replaces table COUNTED not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: GROUP BY: ITEM
-- →   stays: topic: COUNTED
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: N BIGINT
-- →   changes: columns added: none → TOTAL INTEGER
-- →   needs a rebuild: aggregates: COUNT(*) → COUNT(*), SUM(AMOUNT) (the stored groups have the states of the old aggregates)
-- → line 1:79: Cannot replace table COUNTED: its aggregates cannot change
-- →   hint: it has COUNT(*); WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted AS SELECT UCASE(item) AS item, COUNT(*) AS n FROM orders GROUP BY UCASE(item);
-- → Replaces table COUNTED not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: aggregates: COUNT(*)
-- →   stays: topic: COUNTED
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: N BIGINT
-- →   needs a rebuild: GROUP BY: ITEM → UCASE(ITEM) (the state is that of the old groups)
-- → line 1:79: Cannot replace table COUNTED: its GROUP BY cannot change
-- →   hint: it has ITEM; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY item; CREATE OR REPLACE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 2 HOURS) GROUP BY item;
-- → Replaces table COUNTED not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: GROUP BY: ITEM
-- →   stays: aggregates: COUNT(*)
-- →   stays: topic: COUNTED
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: N BIGINT
-- →   changes: GRACE PERIOD and RETENTION: 82800000 ms and 86400000 ms → 79200000 ms and 86400000 ms
-- →   needs a rebuild: window: TUMBLING of 3600000 ms → TUMBLING of 7200000 ms (the state is that of the old windows)
-- → line 1:109: Cannot replace table COUNTED: its window cannot change
-- →   hint: it has TUMBLING of 3600000 ms; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY item; CREATE OR REPLACE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 1 DAY) GROUP BY item;
-- → Replaces table COUNTED in place
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: GROUP BY: ITEM
-- →   stays: aggregates: COUNT(*)
-- →   stays: window: TUMBLING of 3600000 ms
-- →   stays: topic: COUNTED
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: N BIGINT
-- →   changes: GRACE PERIOD and RETENTION: 82800000 ms and 86400000 ms → 86400000 ms and 90000000 ms

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY item; CREATE OR REPLACE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY item EMIT FINAL;
-- → Replaces table COUNTED not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: GROUP BY: ITEM
-- →   stays: aggregates: COUNT(*)
-- →   stays: GRACE PERIOD and RETENTION: 82800000 ms and 86400000 ms
-- →   stays: topic: COUNTED
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: N BIGINT
-- →   needs a rebuild: window: TUMBLING of 3600000 ms → TUMBLING of 3600000 ms, emitted when they close (the state is that of the old windows)
-- → line 1:109: Cannot replace table COUNTED: its window cannot change
-- →   hint: it has TUMBLING of 3600000 ms; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE TABLE adults AS SELECT name, age FROM people WHERE age >= 18; CREATE OR REPLACE TABLE adults AS SELECT name, age FROM people WHERE age >= 21;
-- → Replaces table ADULTS in place
-- →   stays: sources: TABLE PEOPLE (topic people)
-- →   stays: topic: ADULTS
-- →   stays: key format: KAFKA
-- →   stays: value format: DELIMITED
-- →   stays: key columns: NAME STRING
-- →   stays: columns: AGE INTEGER
-- →   changes: WHERE: AGE >= 18 → AGE >= 21

CREATE TABLE adults AS SELECT name, age FROM people; CREATE OR REPLACE TABLE adults AS SELECT name, age FROM people WHERE age >= 18;
-- → Replaces table ADULTS not in place: it needs a rebuild
-- →   stays: sources: TABLE PEOPLE (topic people)
-- →   stays: topic: ADULTS
-- →   stays: key format: KAFKA
-- →   stays: value format: DELIMITED
-- →   stays: key columns: NAME STRING
-- →   stays: columns: AGE INTEGER
-- →   needs a rebuild: WHERE: none → AGE >= 18 (a WHERE over a table stores for each row whether it has passed)
-- → line 1:54: Cannot replace table ADULTS: a WHERE over a table can be changed, but not added or removed
-- →   hint: it has none; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE TABLE ages AS SELECT age, COUNT(*) AS n FROM people GROUP BY age; CREATE OR REPLACE TABLE ages AS SELECT age, COUNT(*) AS n FROM people WHERE name <> 'x' GROUP BY age;
-- → Replaces table AGES in place
-- →   stays: sources: TABLE PEOPLE (topic people)
-- →   stays: GROUP BY: AGE
-- →   stays: aggregates: COUNT(*)
-- →   stays: topic: AGES
-- →   stays: key format: KAFKA
-- →   stays: value format: DELIMITED
-- →   stays: key columns: AGE INTEGER
-- →   stays: columns: N BIGINT
-- →   changes: WHERE: none → NAME <> 'x'

CREATE STREAM named AS SELECT o.id AS id, item, age FROM orders o JOIN people p ON o.item = p.name; CREATE OR REPLACE STREAM named AS SELECT o.id AS id, item, age, amount FROM orders o JOIN people p ON o.item = p.name WHERE amount > 1;
-- → Replaces stream NAMED in place
-- →   stays: sources: STREAM ORDERS (topic orders), TABLE PEOPLE (topic people)
-- →   stays: join: INNER JOIN ON O.ITEM = P.NAME, repartitioned
-- →   stays: columns that the join stores: PEOPLE.NAME STRING, PEOPLE.AGE INTEGER
-- →   stays: topic: NAMED
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: ID BIGINT, AGE INTEGER
-- →   changes: WHERE: none → AMOUNT > 1
-- →   changes: columns added: none → AMOUNT INTEGER

CREATE STREAM named AS SELECT o.id AS id, item, amount FROM orders o JOIN people p ON o.item = p.name; CREATE OR REPLACE STREAM named AS SELECT o.id AS id, item, amount, age FROM orders o JOIN people p ON o.item = p.name;
-- → Replaces stream NAMED not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders), TABLE PEOPLE (topic people)
-- →   stays: join: INNER JOIN ON O.ITEM = P.NAME, repartitioned
-- →   stays: topic: NAMED
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: ID BIGINT, AMOUNT INTEGER
-- →   changes: columns added: none → AGE INTEGER
-- →   needs a rebuild: columns that the join stores: PEOPLE.NAME STRING → PEOPLE.NAME STRING, PEOPLE.AGE INTEGER (the stored rows have the old columns)
-- → line 1:104: Cannot replace stream NAMED: the columns that its join stores cannot change
-- →   hint: it has PEOPLE.NAME STRING; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE STREAM named AS SELECT o.id AS id, item, age FROM orders o JOIN people p ON o.item = p.name; CREATE OR REPLACE STREAM named AS SELECT o.id AS id, item, age FROM orders o LEFT JOIN people p ON o.item = p.name;
-- → Replaces stream NAMED not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders), TABLE PEOPLE (topic people)
-- →   stays: columns that the join stores: PEOPLE.NAME STRING, PEOPLE.AGE INTEGER
-- →   stays: topic: NAMED
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: ID BIGINT, AGE INTEGER
-- →   needs a rebuild: join: INNER JOIN ON O.ITEM = P.NAME, repartitioned → LEFT JOIN ON O.ITEM = P.NAME, repartitioned (the rows that the join stores were joined in the old way)
-- → line 1:101: Cannot replace stream NAMED: its join cannot change
-- →   hint: it has INNER JOIN ON O.ITEM = P.NAME, repartitioned; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE STREAM named AS SELECT o.id AS id, item FROM orders o; CREATE OR REPLACE STREAM named AS SELECT o.id AS id, item, age FROM orders o LEFT JOIN people p ON o.item = p.name;
-- → Replaces stream NAMED not in place: it needs a rebuild
-- →   stays: topic: NAMED
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   needs a rebuild: sources: STREAM ORDERS (topic orders) → STREAM ORDERS (topic orders), TABLE PEOPLE (topic people) (its positions are those of the old topics)
-- →   needs a rebuild: join: none → LEFT JOIN ON O.ITEM = P.NAME, repartitioned (the state is that of the old joins)
-- →   needs a rebuild: key columns: ID BIGINT → ITEM STRING (the records of its topic have the old form)
-- →   needs a rebuild: columns: ITEM STRING → ID BIGINT, AGE INTEGER (the records of its topic have the old form)
-- → line 1:63: Cannot replace stream NAMED: its sources cannot change
-- →   hint: it has STREAM ORDERS (topic orders); WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE STREAM both AS SELECT o.id AS id, o.item AS item, w.one AS one FROM orders o JOIN wide w WITHIN 1 HOUR ON o.id = w.id; CREATE OR REPLACE STREAM both AS SELECT o.id AS id, o.item AS item, w.one AS one FROM orders o JOIN wide w WITHIN 2 HOURS ON o.id = w.id;
-- → Replaces stream BOTH not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders), STREAM WIDE (topic wide)
-- →   stays: columns that the join stores: ORDERS.ID BIGINT, ORDERS.ITEM STRING, WIDE.ID BIGINT, WIDE.ONE DECIMAL(3, 1)
-- →   stays: topic: BOTH
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ID BIGINT
-- →   stays: columns: ITEM STRING, ONE DECIMAL(3, 1)
-- →   needs a rebuild: join: INNER JOIN ON O.ID = W.ID WITHIN 3600000 ms before and 3600000 ms after, grace 86400000 ms → INNER JOIN ON O.ID = W.ID WITHIN 7200000 ms before and 7200000 ms after, grace 86400000 ms (the rows that the join stores were joined in the old way)
-- → line 1:127: Cannot replace stream BOTH: its join cannot change
-- →   hint: it has INNER JOIN ON O.ID = W.ID WITHIN 3600000 ms before and 3600000 ms after, grace 86400000 ms; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE STREAM both AS SELECT o.id AS id, o.item AS item, w.one AS one FROM orders o JOIN wide w WITHIN 1 HOUR ON o.id = w.id; CREATE OR REPLACE STREAM both AS SELECT o.id AS id, o.item AS item, w.one AS one, o.placed AS placed FROM orders o JOIN wide w WITHIN 1 HOUR ON o.id = w.id;
-- → Replaces stream BOTH not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders), STREAM WIDE (topic wide)
-- →   stays: join: INNER JOIN ON O.ID = W.ID WITHIN 3600000 ms before and 3600000 ms after, grace 86400000 ms
-- →   stays: topic: BOTH
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ID BIGINT
-- →   stays: columns: ITEM STRING, ONE DECIMAL(3, 1)
-- →   changes: columns added: none → PLACED TIMESTAMP
-- →   needs a rebuild: columns that the join stores: ORDERS.ID BIGINT, ORDERS.ITEM STRING, WIDE.ID BIGINT, WIDE.ONE DECIMAL(3, 1) → ORDERS.ID BIGINT, ORDERS.ITEM STRING, ORDERS.PLACED TIMESTAMP, WIDE.ID BIGINT, WIDE.ONE DECIMAL(3, 1) (the stored rows have the old columns)
-- → line 1:127: Cannot replace stream BOTH: the columns that its join stores cannot change
-- →   hint: it has ORDERS.ID BIGINT, ORDERS.ITEM STRING, WIDE.ID BIGINT, WIDE.ONE DECIMAL(3, 1); WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE STREAM late AS SELECT id, item FROM orders; TERMINATE CSAS_LATE_0; CREATE OR REPLACE STREAM late AS SELECT id, item, amount FROM orders;
-- → Replaces stream LATE in place
-- →   stays: topic: LATE
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ID BIGINT
-- →   stays: columns: ITEM STRING
-- →   changes: columns added: none → AMOUNT INTEGER

CREATE STREAM named AS SELECT * FROM orders o JOIN people p ON o.item = p.name; ALTER TABLE people ADD COLUMN town STRING; CREATE OR REPLACE STREAM named AS SELECT * FROM orders o JOIN people p ON o.item = p.name;
-- → Replaces stream NAMED not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders), TABLE PEOPLE (topic people)
-- →   stays: join: INNER JOIN ON O.ITEM = P.NAME, repartitioned
-- →   stays: topic: NAMED
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: O_ITEM STRING
-- →   stays: columns: O_ID BIGINT, O_AMOUNT INTEGER, O_PRICE DECIMAL(6, 2), O_TAGS ARRAY<STRING>, O_PLACE STRUCT<`CITY` STRING, `ZIP` INTEGER>, O_PLACED TIMESTAMP, P_NAME STRING, P_AGE INTEGER
-- →   changes: columns added: none → P_TOWN STRING
-- →   needs a rebuild: columns that the join stores: PEOPLE.NAME STRING, PEOPLE.AGE INTEGER → PEOPLE.NAME STRING, PEOPLE.AGE INTEGER, PEOPLE.TOWN STRING (the stored rows have the old columns)
-- → line 1:124: Cannot replace stream NAMED: the columns that its join stores cannot change
-- →   hint: it has PEOPLE.NAME STRING, PEOPLE.AGE INTEGER; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE STREAM late AS SELECT * FROM wide; ALTER STREAM wide ADD COLUMN town STRING; CREATE OR REPLACE STREAM late AS SELECT * FROM wide;
-- → Replaces stream LATE in place
-- →   stays: sources: STREAM WIDE (topic wide)
-- →   stays: topic: LATE
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ID BIGINT
-- →   stays: columns: AMOUNT DECIMAL(12, 2), PRICE DECIMAL(9, 3), ONE DECIMAL(3, 1)
-- →   changes: columns added: none → TOWN STRING

CREATE TABLE counted AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted AS SELECT o.item AS item, COUNT(*) AS n, SUM(o.amount) AS total FROM orders o GROUP BY o.item;
-- → Replaces table COUNTED in place
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: GROUP BY: O.ITEM
-- →   stays: aggregates: COUNT(*), SUM(O.AMOUNT)
-- →   stays: topic: COUNTED
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: N BIGINT, TOTAL INTEGER
-- →   changes: column TOTAL: SUM(AMOUNT) → SUM(O.AMOUNT)

CREATE TABLE best AS SELECT item, TOPK(amount, 3) AS top FROM orders GROUP BY item; CREATE OR REPLACE TABLE best AS SELECT item, TOPK(amount, 5) AS top FROM orders GROUP BY item;
-- → Replaces table BEST not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: GROUP BY: ITEM
-- →   stays: topic: BEST
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: TOP ARRAY<INTEGER>
-- →   changes: column TOP: TOPK(AMOUNT, 3) → TOPK(AMOUNT, 5)
-- →   needs a rebuild: aggregates: TOPK(AMOUNT, 3) → TOPK(AMOUNT, 5) (the stored groups have the states of the old aggregates)
-- → line 1:85: Cannot replace table BEST: its aggregates cannot change
-- →   hint: it has TOPK(AMOUNT, 3); WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE STREAM moved AS SELECT item, id FROM orders PARTITION BY item; CREATE OR REPLACE STREAM moved AS SELECT o.item AS item, id FROM orders o PARTITION BY o.item;
-- → Replaces stream MOVED in place
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: PARTITION BY: O.ITEM
-- →   stays: topic: MOVED
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: ID BIGINT

CREATE STREAM late AS SELECT * FROM orders; CREATE TABLE both AS SELECT x.item AS item, COUNT(y.item) AS n FROM orders x JOIN late y WITHIN 1 HOUR ON x.id = y.id GROUP BY x.item; CREATE OR REPLACE TABLE both AS SELECT x.item AS item, COUNT(y.item) AS n FROM orders y JOIN late x WITHIN 1 HOUR ON x.id = y.id GROUP BY x.item;
-- → Replaces table BOTH not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders), STREAM LATE (topic LATE)
-- →   stays: join: INNER JOIN ON X.ID = Y.ID WITHIN 3600000 ms before and 3600000 ms after, grace 86400000 ms
-- →   stays: columns that the join stores: ORDERS.ID BIGINT, ORDERS.ITEM STRING, LATE.ID BIGINT, LATE.ITEM STRING
-- →   stays: topic: BOTH
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: N BIGINT
-- →   needs a rebuild: GROUP BY: X.ITEM (the state is that of the old groups)
-- →   needs a rebuild: aggregates: COUNT(Y.ITEM) (the stored groups have the states of the old aggregates)
-- → line 1:180: Cannot replace table BOTH: its GROUP BY cannot change
-- →   hint: it has X.ITEM; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE STREAM late AS SELECT * FROM orders; CREATE STREAM both AS SELECT x.id AS id, x.item AS item, y.item AS other FROM orders x JOIN late y WITHIN 1 HOUR ON x.id = y.id + 1; CREATE OR REPLACE STREAM both AS SELECT x.id AS id, x.item AS item, y.item AS other FROM orders y JOIN late x WITHIN 1 HOUR ON x.id = y.id + 1;
-- → Replaces stream BOTH not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders), STREAM LATE (topic LATE)
-- →   stays: columns that the join stores: ORDERS.ID BIGINT, ORDERS.ITEM STRING, LATE.ID BIGINT, LATE.ITEM STRING
-- →   stays: topic: BOTH
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ID BIGINT
-- →   stays: columns: ITEM STRING, OTHER STRING
-- →   needs a rebuild: join: INNER JOIN ON X.ID = Y.ID + 1 WITHIN 3600000 ms before and 3600000 ms after, grace 86400000 ms, repartitioned (the rows that the join stores were joined in the old way)
-- → line 1:178: Cannot replace stream BOTH: its join cannot change
-- →   hint: it has INNER JOIN ON X.ID = Y.ID + 1 WITHIN 3600000 ms before and 3600000 ms after, grace 86400000 ms, repartitioned; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE STREAM late AS SELECT id, item FROM (SELECT id, item FROM orders WHERE amount > 1); CREATE OR REPLACE STREAM late AS SELECT id, item FROM (SELECT id, UCASE(item) AS item FROM orders WHERE amount > 2);
-- → Replaces stream LATE in place
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: topic: LATE
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ID BIGINT
-- →   stays: columns: ITEM STRING
-- →   changes: WHERE: AMOUNT > 1 → AMOUNT > 2
-- →   changes: inner queries: ID, ITEM → ID, UCASE(ITEM) AS ITEM

CREATE TABLE late AS SELECT item, COUNT(*) AS n FROM (SELECT item FROM orders) GROUP BY item; CREATE OR REPLACE TABLE late AS SELECT item, COUNT(*) AS n FROM (SELECT UCASE(item) AS item FROM orders) GROUP BY item;
-- → Replaces table LATE not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: GROUP BY: ITEM
-- →   stays: aggregates: COUNT(*)
-- →   stays: topic: LATE
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: N BIGINT
-- →   needs a rebuild: inner queries: ITEM → UCASE(ITEM) AS ITEM (the state was computed from the old inner queries' rows)
-- → line 1:95: Cannot replace table LATE: its inner queries cannot change
-- →   hint: it has ITEM; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE STREAM late AS SELECT id, item FROM orders; CREATE OR REPLACE STREAM late AS SELECT id, item FROM orders UNION ALL SELECT a.id AS id, 'x' AS item FROM wide a;
-- → Replaces stream LATE not in place: it needs a rebuild
-- →   stays: topic: LATE
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ID BIGINT
-- →   stays: columns: ITEM STRING
-- →   changes: inner queries: none → ID, ITEM; A.ID AS ID, 'x' AS ITEM
-- →   needs a rebuild: sources: STREAM ORDERS (topic orders) → STREAM ORDERS (topic orders), STREAM WIDE (topic wide) (its positions are those of the old topics)
-- → line 1:52: Cannot replace stream LATE: its sources cannot change
-- →   hint: it has STREAM ORDERS (topic orders); WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE TABLE late WITH (state_ttl='1 DAY') AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE late WITH (state_ttl='2 DAYS') AS SELECT item, COUNT(*) AS n FROM orders WHERE amount > 1 GROUP BY item;
-- → Replaces table LATE not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: GROUP BY: ITEM
-- →   stays: aggregates: COUNT(*)
-- →   stays: topic: LATE
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: N BIGINT
-- →   changes: WHERE: none → AMOUNT > 1
-- →   needs a rebuild: STATE_TTL: 86400000 ms → 172800000 ms (the state has the times of the old one)
-- → line 1:101: Cannot replace table LATE: its STATE_TTL cannot change
-- →   hint: it has 86400000 ms; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE TABLE late AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE late WITH (state_ttl='2 DAYS') AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item;
-- → Replaces table LATE not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: GROUP BY: ITEM
-- →   stays: aggregates: COUNT(*)
-- →   stays: topic: LATE
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: N BIGINT
-- →   needs a rebuild: STATE_TTL: none → 172800000 ms (the state has the times of the old one)
-- → line 1:76: Cannot replace table LATE: its STATE_TTL cannot change
-- →   hint: it has none; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE TABLE late WITH (state_ttl='24 HOURS') AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE late WITH (state_ttl='1 DAY') AS SELECT item, COUNT(*) AS n FROM orders WHERE amount > 1 GROUP BY item;
-- → Replaces table LATE in place
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: GROUP BY: ITEM
-- →   stays: aggregates: COUNT(*)
-- →   stays: STATE_TTL: 86400000 ms
-- →   stays: topic: LATE
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: N BIGINT
-- →   changes: WHERE: none → AMOUNT > 1

CREATE STREAM late AS SELECT DISTINCT id, item FROM orders; CREATE OR REPLACE STREAM late AS SELECT DISTINCT id, item FROM orders WHERE amount > 1;
-- → Replaces stream LATE in place
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: DISTINCT: ID BIGINT, ITEM STRING
-- →   stays: inner queries: ID, ITEM
-- →   stays: topic: LATE
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ID BIGINT
-- →   stays: columns: ITEM STRING
-- →   changes: WHERE: none → AMOUNT > 1

CREATE STREAM late AS SELECT DISTINCT id, item FROM orders; CREATE OR REPLACE STREAM late AS SELECT id, item FROM orders;
-- → Replaces stream LATE not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: topic: LATE
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ID BIGINT
-- →   stays: columns: ITEM STRING
-- →   needs a rebuild: DISTINCT: ID BIGINT, ITEM STRING → none (the state has the rows that were seen)
-- →   needs a rebuild: inner queries: ID, ITEM → none (the state was computed from the old inner queries' rows)
-- → line 1:61: Cannot replace stream LATE: its DISTINCT cannot change
-- →   hint: it has ID BIGINT, ITEM STRING; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE STREAM late AS SELECT DISTINCT id, item FROM orders; CREATE OR REPLACE STREAM late WITH (state_ttl='1 DAY') AS SELECT DISTINCT id, item FROM orders;
-- → Replaces stream LATE not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: inner queries: ID, ITEM
-- →   stays: topic: LATE
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ID BIGINT
-- →   stays: columns: ITEM STRING
-- →   needs a rebuild: DISTINCT: ID BIGINT, ITEM STRING → ID BIGINT, ITEM STRING, kept for 86400000 ms without rows (the state has the rows that were seen)
-- → line 1:61: Cannot replace stream LATE: its DISTINCT cannot change
-- →   hint: it has ID BIGINT, ITEM STRING; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE TABLE counted AS SELECT item, COUNT(DISTINCT amount) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted AS SELECT item, COUNT(DISTINCT amount) AS n FROM orders WHERE amount > 1 GROUP BY item;
-- → Replaces table COUNTED in place
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: GROUP BY: ITEM
-- →   stays: aggregates: COUNT(DISTINCT AMOUNT)
-- →   stays: DISTINCT: AMOUNT INTEGER
-- →   stays: topic: COUNTED
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: N BIGINT
-- →   changes: WHERE: none → AMOUNT > 1

CREATE TABLE counted AS SELECT item, COUNT(DISTINCT amount) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted AS SELECT item, COUNT(amount) AS n FROM orders GROUP BY item;
-- → Replaces table COUNTED not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: GROUP BY: ITEM
-- →   stays: aggregates: COUNT(AMOUNT)
-- →   stays: topic: COUNTED
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: N BIGINT
-- →   changes: column N: COUNT(DISTINCT AMOUNT) → COUNT(AMOUNT)
-- →   needs a rebuild: DISTINCT: AMOUNT INTEGER → none (the state has the rows that were seen)
-- → line 1:93: Cannot replace table COUNTED: its DISTINCT cannot change
-- →   hint: it has AMOUNT INTEGER; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE TABLE counted AS SELECT item, COUNT(DISTINCT amount) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted AS SELECT item, COUNT(DISTINCT amount + 1) AS n FROM orders GROUP BY item;
-- → Replaces table COUNTED not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: GROUP BY: ITEM
-- →   stays: topic: COUNTED
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: N BIGINT
-- →   changes: column N: COUNT(DISTINCT AMOUNT) → COUNT(DISTINCT AMOUNT + 1)
-- →   needs a rebuild: aggregates: COUNT(DISTINCT AMOUNT) → COUNT(DISTINCT AMOUNT + 1) (the stored groups have the states of the old aggregates)
-- →   needs a rebuild: DISTINCT: AMOUNT INTEGER → AMOUNT + 1 INTEGER (the state has the rows that were seen)
-- → line 1:93: Cannot replace table COUNTED: its aggregates cannot change
-- →   hint: it has COUNT(DISTINCT AMOUNT); WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE TABLE counted AS SELECT item, COUNT(*) FILTER (WHERE amount > 1) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted AS SELECT item, COUNT(*) FILTER (WHERE amount > 2) AS n FROM orders GROUP BY item;
-- → Replaces table COUNTED not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: GROUP BY: ITEM
-- →   stays: topic: COUNTED
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: N BIGINT
-- →   changes: column N: COUNT(*) FILTER (WHERE AMOUNT > 1) → COUNT(*) FILTER (WHERE AMOUNT > 2)
-- →   needs a rebuild: aggregates: COUNT(*) FILTER (WHERE AMOUNT > 1) → COUNT(*) FILTER (WHERE AMOUNT > 2) (the stored groups have the states of the old aggregates)
-- → line 1:105: Cannot replace table COUNTED: its aggregates cannot change
-- →   hint: it has COUNT(*) FILTER (WHERE AMOUNT > 1); WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE TABLE counted AS SELECT item, COUNT(DISTINCT id) FILTER (WHERE amount > 1) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted AS SELECT item, COUNT(DISTINCT id) FILTER (WHERE amount > 2) AS n FROM orders GROUP BY item;
-- → Replaces table COUNTED not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: GROUP BY: ITEM
-- →   stays: topic: COUNTED
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: N BIGINT
-- →   changes: column N: COUNT(DISTINCT ID) FILTER (WHERE AMOUNT > 1) → COUNT(DISTINCT ID) FILTER (WHERE AMOUNT > 2)
-- →   needs a rebuild: aggregates: COUNT(DISTINCT ID) FILTER (WHERE AMOUNT > 1) → COUNT(DISTINCT ID) FILTER (WHERE AMOUNT > 2) (the stored groups have the states of the old aggregates)
-- →   needs a rebuild: DISTINCT: CASE WHEN AMOUNT > 1 THEN ID END BIGINT → CASE WHEN AMOUNT > 2 THEN ID END BIGINT (the state has the rows that were seen)
-- → line 1:115: Cannot replace table COUNTED: its aggregates cannot change
-- →   hint: it has COUNT(DISTINCT ID) FILTER (WHERE AMOUNT > 1); WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE VIEW dear AS SELECT id, amount FROM orders WHERE amount > 5; CREATE STREAM s AS SELECT id, amount * 2 AS twice FROM dear; CREATE OR REPLACE VIEW dear AS SELECT id, amount FROM orders WHERE amount > 7; CREATE OR REPLACE STREAM s AS SELECT id, amount * 2 AS twice FROM dear;
-- → Replaces stream S in place
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: inner queries: ID, AMOUNT
-- →   stays: topic: S
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ID BIGINT
-- →   stays: columns: TWICE INTEGER
-- →   changes: WHERE: AMOUNT > 5 → AMOUNT > 7

CREATE VIEW dear AS SELECT item, amount FROM orders WHERE amount > 5; CREATE TABLE s AS SELECT item, COUNT(*) AS n FROM dear GROUP BY item; CREATE OR REPLACE VIEW dear AS SELECT item, amount + 1 AS amount FROM orders WHERE amount > 5; CREATE OR REPLACE TABLE s AS SELECT item, COUNT(*) AS n FROM dear GROUP BY item;
-- → Replaces table S not in place: it needs a rebuild
-- →   stays: sources: STREAM ORDERS (topic orders)
-- →   stays: GROUP BY: ITEM
-- →   stays: aggregates: COUNT(*)
-- →   stays: WHERE: AMOUNT > 5
-- →   stays: topic: S
-- →   stays: key format: KAFKA
-- →   stays: value format: JSON
-- →   stays: key columns: ITEM STRING
-- →   stays: columns: N BIGINT
-- →   needs a rebuild: inner queries: ITEM, AMOUNT → ITEM, AMOUNT + 1 AS AMOUNT (the state was computed from the old inner queries' rows)
-- → line 1:236: Cannot replace table S: its inner queries cannot change
-- →   hint: it has ITEM, AMOUNT; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept
