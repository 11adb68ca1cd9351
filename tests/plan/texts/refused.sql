CREATE STREAM s (k STRING KEY) WITH (value_format='JSON');
-- → line 1:1: Missing required property "KAFKA_TOPIC" which has no default value.
-- →   hint: the columns are followed by WITH (KAFKA_TOPIC='…', VALUE_FORMAT='JSON')

CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='odrers', value_format='JSON');
-- → line 1:45: Kafka topic does not exist: odrers
-- →   hint: did you mean `orders`?

CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='orders', partitions=9, value_format='JSON');
-- → line 1:67: A Kafka topic with the name 'orders' already exists, with different partition/replica/retention configuration than required. KSQL expects 9 partitions (topic has 2), 1 replication factor (topic has 1), and 86400000 retention (topic has 86400000).
-- →   hint: leave PARTITIONS out, or choose another topic

CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='orders', format='JSON', key_format='KAFKA');
-- → line 1:82: Cannot supply both 'KEY_FORMAT' and 'FORMAT' properties, as 'FORMAT' sets both key and value formats. Either use just 'FORMAT', or use 'KEY_FORMAT' and 'VALUE_FORMAT'.

CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='orders', value_format='AVRO', value_avro_schema_full_name='a', value_schema_full_name='a');
-- → line 1:88: Cannot supply both 'VALUE_AVRO_SCHEMA_FULL_NAME' and 'VALUE_SCHEMA_FULL_NAME' properties. Please only set 'VALUE_SCHEMA_FULL_NAME'.

CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='orders', value_format='JSON', value_protobuf_nullable_representation='OPTIONAL');
-- → line 1:88: Property VALUE_PROTOBUF_NULLABLE_REPRESENTATION can only be enabled with protobuf format

CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='orders', value_fromat='JSON');
-- → line 1:67: Invalid config variable(s) in the WITH clause: VALUE_FROMAT
-- →   hint: did you mean VALUE_FORMAT?

CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='orders', value_format='XML');
-- → line 1:67: Unknown format: XML
-- →   hint: formats are AVRO, DELIMITED, JSON, JSON_SR, KAFKA, NONE, PROTOBUF, PROTOBUF_NOSR

CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='orders', value_format='DELIMITED', value_delimiter='||');
-- → line 1:93: VALUE_DELIMITER is invalid: '||'
-- →   hint: a delimiter is a single character, or TAB or SPACE by name

CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='orders', value_format='DELIMITED', value_delimiter='😀');
-- → line 1:93: VALUE_DELIMITER is invalid: '😀'
-- →   hint: a delimiter is a single character, or TAB or SPACE by name

CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='orders');
-- → line 1:1: Statement is missing the 'VALUE_FORMAT' property from the WITH clause.
-- →   hint: set VALUE_FORMAT, FORMAT, or the default ksql.persistence.default.format.value

CREATE STREAM s (k STRING PRIMARY KEY, v INT) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:18: column K is a 'PRIMARY KEY' column: streams have 'KEY' columns
-- →   hint: write K … KEY

CREATE TABLE t (v INT) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:1: Tables require a PRIMARY KEY. Please define the PRIMARY KEY.
-- →   hint: mark the column that identifies a row: name type PRIMARY KEY

CREATE STREAM s (k MAP<STRING, INT> KEY, v INT) WITH (kafka_topic='orders', format='JSON');
-- → line 1:77: Map keys, including types that contain maps, are not supported as they may lead to unexpected behavior due to inconsistent serialization. Key column name: `K`.
-- →   hint: a key may be a primitive, an ARRAY or a STRUCT, with no MAP inside

CREATE STREAM s (k BOOLEAN KEY, v INT) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:1: Key format does not support schema: The 'KAFKA' format does not support type 'BOOLEAN', column: `K`
-- →   hint: KEY_FORMAT may be AVRO, DELIMITED, JSON, JSON_SR, PROTOBUF, PROTOBUF_NOSR

CREATE STREAM s (k STRING KEY, k INT) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:1: duplicate column name: K
-- →   hint: only (ROWKEY STRUCT<…>, ROWVALUE STRUCT<…>) may have a name in the key and in the value

CREATE STREAM s (k STRING KEY, rowtime BIGINT) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:32: 'ROWTIME' is a reserved column name. You cannot use it as a name for a column.

CREATE STREAM s (k STRING KEY, a INT, b INT) WITH (kafka_topic='orders', value_format='JSON', wrap_single_value=false);
-- → line 1:95: 'WRAP_SINGLE_VALUE' is only valid for single-field value schemas
-- →   hint: the value has 2 columns, A, B, which always make a record; leave WRAP_SINGLE_VALUE out

CREATE STREAM s (k STRING KEY, seen STRING) WITH (kafka_topic='orders', value_format='JSON', timestamp='sene');
-- → line 1:94: The TIMESTAMP column set in the WITH clause does not exist in the schema: 'SENE'
-- →   hint: did you mean SEEN?

CREATE STREAM s (k STRING KEY, seen STRING) WITH (kafka_topic='orders', value_format='JSON', timestamp='seen');
-- → line 1:94: a TIMESTAMP column of type STRING needs TIMESTAMP_FORMAT

CREATE STREAM orders (k STRING KEY, v INT) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:1: Cannot add stream 'ORDERS': A stream with the same name already exists
-- →   hint: use CREATE OR REPLACE, or DROP it first

CREATE STREAM s AS SELECT * FROM oders;
-- → line 1:34: ODERS does not exist: no stream or table has that name
-- →   hint: did you mean ORDERS?

CREATE STREAM s AS SELECT id, amuont FROM orders;
-- → line 1:31: SELECT column 'AMUONT' cannot be resolved.
-- →   hint: did you mean AMOUNT?

CREATE STREAM s AS SELECT item FROM orders;
-- → line 1:20: The query used to build S must include the key column ID in its projection.
-- →   hint: SELECT ID, …

CREATE STREAM s AS SELECT id FROM orders;
-- → line 1:20: The projection contains no value columns.
-- →   hint: select a value column too, or AS_VALUE(key)

CREATE STREAM s AS SELECT id, item, amount AS item FROM orders;
-- → line 1:37: The projection contains column ITEM more than once.

CREATE STREAM s AS SELECT id, id AS again, item FROM orders;
-- → line 1:20: The projection contains a key column (ID) more than once, aliased as: ID and AGAIN.
-- →   hint: use AS_VALUE(ID) to copy the key into the value

CREATE TABLE t AS SELECT amount + 1 AS x, amount + 1 AS y, COUNT(*) FROM orders GROUP BY amount + 1;
-- → line 1:19: The projection contains a key column (AMOUNT + 1) more than once, aliased as: X and Y.
-- →   hint: use AS_VALUE(AMOUNT + 1) to copy the key into the value

CREATE STREAM q (`my key` STRING KEY, v INT) WITH (kafka_topic='orders', value_format='JSON'); CREATE STREAM r AS SELECT v FROM q;
-- → Stream created
-- → Q (`my key` STRING KEY, V INTEGER)
-- → line 1:115: The query used to build R must include the key column `my key` in its projection.
-- →   hint: SELECT `my key`, …

SELECT id AS ROWTIME FROM orders EMIT CHANGES;
-- → line 1:8: `ROWTIME` is a reserved column name. You cannot use it as an alias for a column.

SELECT ROWTIME + 1 AS ROWTIME FROM orders;
-- → line 1:8: `ROWTIME` is a reserved column name. You cannot use it as an alias for a column.

SELECT UCASE(item) AS WINDOWSTART FROM orders EMIT CHANGES;
-- → line 1:8: `WINDOWSTART` is a reserved column name. You cannot use it as an alias for a column.

CREATE STREAM s AS SELECT id, ROWTIME FROM orders;
-- → line 1:31: Reserved column name in select: `ROWTIME`. Please remove or alias the column.

CREATE STREAM w (k STRING KEY, v INT) WITH (kafka_topic='orders', value_format='JSON', window_type='SESSION'); CREATE TABLE t AS SELECT k, COUNT(*) AS n FROM w WINDOW TUMBLING (SIZE 1 HOUR) WHERE WINDOWSTART > 5 GROUP BY k;
-- → Stream created
-- → W (K STRING KEY, V INTEGER)
-- → line 1:197: Window bounds column WINDOWSTART can only be used in the SELECT clause of windowed aggregations and can not be passed to aggregate functions.
-- →   hint: select it under another name, and filter the result by it

CREATE STREAM w (k STRING KEY, v INT) WITH (kafka_topic='orders', value_format='JSON', window_type='SESSION'); CREATE TABLE t AS SELECT k, MAX(v - WINDOWEND) AS n FROM w WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY k;
-- → Stream created
-- → W (K STRING KEY, V INTEGER)
-- → line 1:148: Window bounds column WINDOWEND can only be used in the SELECT clause of windowed aggregations and can not be passed to aggregate functions.
-- →   hint: select it under another name, and filter the result by it

CREATE STREAM w (k STRING KEY, v INT) WITH (kafka_topic='orders', value_format='JSON', window_type='SESSION'); CREATE TABLE t AS SELECT COUNT(*) AS n FROM w WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY WINDOWSTART;
-- → Stream created
-- → W (K STRING KEY, V INTEGER)
-- → line 1:197: Window bounds column WINDOWSTART can only be used in the SELECT clause of windowed aggregations and can not be passed to aggregate functions.
-- →   hint: select it under another name, and filter the result by it

CREATE TABLE t AS SELECT item, COUNT(*) AS n FROM orders WINDOW SESSION (1 HOUR) GROUP BY item HAVING WINDOWEND > 5;
-- → line 1:103: Window bounds column WINDOWEND can only be used in the SELECT clause of windowed aggregations and can not be passed to aggregate functions.
-- →   hint: select it under another name, and filter the result by it

CREATE STREAM r (k STRING KEY, tags ARRAY, v INT) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:32: ARRAY needs the types of its elements
-- →   hint: write ARRAY<STRING>

CREATE TYPE place AS STRUCT<x INT, more STRUCT<y INT, Y STRING>>;
-- → line 1:1: field Y is repeated

CREATE STREAM r (k STRING KEY, made STRUCT<rowtime BIGINT>) WITH (kafka_topic='orders', value_format='JSON');
CREATE STREAM s AS SELECT k, made->rowtime FROM r;
-- → Stream created
-- → R (K STRING KEY, MADE STRUCT<`ROWTIME` BIGINT>)
-- → line 2:30: Reserved column name in select: `ROWTIME`. Please remove or alias the column.

CREATE STREAM s AS SELECT id, NULL AS nothing FROM orders;
-- → line 1:31: a bare NULL has no type and cannot be a column
-- →   hint: give it one: CAST(NULL AS STRING)

CREATE STREAM s AS SELECT id, item FROM orders WHERE item;
-- → line 1:54: Type error in WHERE expression: Should evaluate to boolean but is ITEM (STRING) instead.

CREATE STREAM s AS SELECT * FROM people;
-- → line 1:1: Invalid result type. Your SELECT query produces a TABLE. Please use CREATE TABLE AS SELECT statement instead.
-- →   hint: a table's changes are a stream: CREATE STREAM name (columns) WITH (KAFKA_TOPIC='the table's topic', …)

CREATE TABLE t AS SELECT * FROM orders;
-- → line 1:1: Invalid result type. Your SELECT query produces a STREAM. Please use CREATE STREAM AS SELECT statement instead.

CREATE TABLE t AS SELECT * FROM people PARTITION BY age;
-- → line 1:19: PARTITION BY is not supported on tables
-- →   hint: tables keep their key

CREATE STREAM s AS SELECT id, amount FROM orders PARTITION BY item, amount;
-- → line 1:20: The query used to build S must include the partitioning expressions ITEM and AMOUNT in its projection.
-- →   hint: SELECT ITEM, AMOUNT, …

CREATE STREAM s AS SELECT * FROM orders PARTITION BY item, amount;
-- → line 1:1: Key format does not support schema: The 'KAFKA' format only supports a single field. Got: [ITEM STRING, AMOUNT INTEGER]
-- →   hint: KEY_FORMAT may be AVRO, DELIMITED, JSON, JSON_SR, PROTOBUF, PROTOBUF_NOSR

CREATE STREAM s WITH (key_format='KAFKA') AS SELECT * FROM orders PARTITION BY NULL;
-- → line 1:23: Key format specified for stream without key columns.
-- →   hint: leave KEY_FORMAT out, or use NONE

CREATE STREAM s WITH (format='JSON') AS SELECT * FROM orders PARTITION BY NULL;
-- → line 1:23: Key format specified for stream without key columns.
-- →   hint: leave KEY_FORMAT out, or use NONE

CREATE STREAM raw (v INT, x INT) WITH (kafka_topic='orders', format='JSON'); CREATE STREAM s WITH (value_format='JSON') AS SELECT v, x FROM raw; CREATE TABLE c AS SELECT v, x, COUNT(*) AS n FROM s GROUP BY v, x;
-- → Stream created
-- → RAW (V INTEGER, X INTEGER)
-- → Created query with ID CSAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CSAS_S_0
-- → S (V INTEGER, X INTEGER)
-- → Write STREAM S to topic S (key NONE, value JSON)
-- →   Select V, X
-- →     Read STREAM RAW from topic orders (key JSON, value JSON)
-- → line 1:146: Key format does not support schema: The 'KAFKA' format only supports a single field. Got: [V INTEGER, X INTEGER]
-- →   hint: KEY_FORMAT may be AVRO, DELIMITED, JSON, JSON_SR, PROTOBUF, PROTOBUF_NOSR

CREATE STREAM s AS SELECT id, EXPLODE(EXPLODE(tags)) FROM orders;
-- → line 1:39: Table functions cannot be nested

CREATE STREAM s WITH (value_format='DELIMITED') AS SELECT id, tags FROM orders;
-- → line 1:23: Value format does not support schema: The 'DELIMITED' format does not support type 'ARRAY', column: `TAGS`
-- →   hint: VALUE_FORMAT may be AVRO, JSON, JSON_SR, PROTOBUF, PROTOBUF_NOSR

CREATE OR REPLACE TABLE narrow (id BIGINT PRIMARY KEY, amount DECIMAL(4, 2)) WITH (kafka_topic='n', partitions=1, value_format='JSON');
-- → line 1:1: Cannot upgrade data source: DataSource '`NARROW`' has type = KSTREAM which is not upgradeable to KTABLE

CREATE OR REPLACE STREAM narrow (id INT KEY, amount DECIMAL(4, 2)) WITH (kafka_topic='n', partitions=1, value_format='JSON');
-- → line 1:1: Cannot upgrade data source: DataSource '`NARROW`' has schema = `ID` BIGINT KEY, `AMOUNT` DECIMAL(4, 2) which is not upgradeable to `ID` INTEGER KEY, `AMOUNT` DECIMAL(4, 2). (Key columns must be identical. The following key columns are changed, missing or reordered: [`ID` BIGINT KEY])
-- →   hint: new key columns come after those that are there

CREATE OR REPLACE STREAM pairs (b INT KEY, a INT KEY, c INT KEY, v STRING) WITH (kafka_topic='pairs', partitions=2, format='JSON');
-- → line 1:1: Cannot upgrade data source: DataSource '`PAIRS`' has schema = `A` INTEGER KEY, `B` INTEGER KEY, `V` STRING which is not upgradeable to `B` INTEGER KEY, `A` INTEGER KEY, `C` INTEGER KEY, `V` STRING. (Key columns must be identical. The following key columns are changed, missing or reordered: [`A` INTEGER KEY, `B` INTEGER KEY])
-- →   hint: new key columns come after those that are there

CREATE STREAM bare (a INT KEY, v INT) WITH (kafka_topic='bare', partitions=1, format='JSON'); CREATE OR REPLACE STREAM bare (a INT KEY, b INT KEY, v INT) WITH (kafka_topic='bare', partitions=1, format='JSON');
-- → Stream created
-- → create topic bare with 1 partition(s)
-- → BARE (A INTEGER KEY, V INTEGER)
-- → line 1:95: Cannot upgrade data source: DataSource '`BARE`' has key format = JSON, not wrapped which is not upgradeable to JSON
-- →   hint: its key format cannot change

CREATE STREAM copy AS SELECT * FROM pairs; CREATE OR REPLACE STREAM pairs (a INT KEY, b INT KEY, c INT KEY, v STRING) WITH (kafka_topic='pairs', partitions=2, format='JSON'); CREATE OR REPLACE STREAM copy AS SELECT * FROM pairs;
-- → Created query with ID CSAS_COPY_0
-- → create topic COPY with 1 partition(s)
-- → start query CSAS_COPY_0
-- → COPY (A INTEGER KEY, B INTEGER KEY, V STRING)
-- → Write STREAM COPY to topic COPY (key JSON, value JSON)
-- →   Select A KEY, B KEY, V
-- →     Read STREAM PAIRS from topic pairs (key JSON, value JSON)
-- → Stream replaced
-- → create topic pairs with 2 partition(s)
-- → PAIRS (A INTEGER KEY, B INTEGER KEY, C INTEGER KEY, V STRING)
-- → line 1:176: Cannot upgrade data source: DataSource '`COPY`' has schema = `A` INTEGER KEY, `B` INTEGER KEY, `V` STRING which is not upgradeable to `A` INTEGER KEY, `B` INTEGER KEY, `C` INTEGER KEY, `V` STRING. (Key columns must be identical.)
-- →   hint: it has A INTEGER, B INTEGER; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

CREATE OR REPLACE STREAM narrow (id BIGINT KEY, amount DECIMAL(4, 2)) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:1: Cannot upgrade data source: DataSource '`NARROW`' has topic = n which is not upgradeable to orders
-- →   hint: its topic cannot change

CREATE OR REPLACE STREAM narrow (id BIGINT KEY, amount DECIMAL(4, 2), made TIMESTAMP) WITH (kafka_topic='n', partitions=1, value_format='JSON', timestamp='made');
-- → line 1:1: Cannot upgrade data source: DataSource '`NARROW`' has timestampColumn = none which is not upgradeable to MADE
-- →   hint: its timestampColumn cannot change

CREATE OR REPLACE STREAM orders (id BIGINT KEY, item INT) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:1: Cannot upgrade data source: DataSource '`ORDERS`' has schema = `ID` BIGINT KEY, `ITEM` STRING, `AMOUNT` INTEGER, `PRICE` DECIMAL(6, 2), `TAGS` ARRAY<STRING>, `PLACE` STRUCT<`CITY` STRING, `ZIP` INTEGER>, `PLACED` TIMESTAMP which is not upgradeable to `ID` BIGINT KEY, `ITEM` INTEGER. (The following columns are changed, missing or reordered: [`ITEM` STRING, `AMOUNT` INTEGER, `PRICE` DECIMAL(6, 2), `TAGS` ARRAY<STRING>, `PLACE` STRUCT<`CITY` STRING, `ZIP` INTEGER>, `PLACED` TIMESTAMP])
-- →   hint: new columns come after those that are there

CREATE OR REPLACE SOURCE STREAM given (k STRING KEY, v INT) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:1: Cannot add stream 'GIVEN': CREATE OR REPLACE is not supported on source streams.

ALTER STREAM given ADD COLUMN w INT;
-- → line 1:1: Cannot alter stream 'GIVEN': ALTER operations are not supported on source streams.

INSERT INTO people SELECT * FROM people;
-- → line 1:1: INSERT INTO can only be used to insert into a stream. PEOPLE is a table.

INSERT INTO pairs SELECT id, amount FROM orders;
-- → line 1:1: Incompatible schema between results and sink. Result schema is [ID BIGINT KEY, AMOUNT INTEGER], but the sink schema is [A INTEGER KEY, B INTEGER KEY, V STRING].
-- →   hint: names, types and order of key and value columns must be the sink's

INSERT INTO given SELECT * FROM given;
-- → line 1:1: Cannot insert into read-only stream: GIVEN

INSERT INTO orders (id, amount) VALUES (1);
-- → line 1:1: Expected number columns and values to match: 2, 1
-- →   hint: the columns are ID, AMOUNT

INSERT INTO orders (id, amount) VALUES (1, 'two');
-- → line 1:44: Failed to insert values into 'ORDERS'. Expected type INTEGER for field `AMOUNT` but got STRING(two)
-- →   hint: CAST it

INSERT INTO people VALUES ('ann', 1, 'two');
-- → line 1:1: Failed to insert values into 'PEOPLE'. Expected a value for each column. Expected Columns: []. Got ['ann', 1, 'two']
-- →   hint: the columns are NAME, AGE

INSERT INTO people VALUES (true, 1);
-- → line 1:28: Failed to insert values into 'PEOPLE'. Expected type STRING for field `NAME` but got BOOLEAN(true)
-- →   hint: CAST it

INSERT INTO orders (id, amount) VALUES (1, ARRAY[2]);
-- → line 1:44: Failed to insert values into 'ORDERS'. Expected type INTEGER for field `AMOUNT` but got ARRAY<INTEGER>

CREATE STREAM o AS SELECT id FROM orders WHERE amount = ARRAY[2];
-- → line 1:48: Error in WHERE expression: Cannot compare AMOUNT (INTEGER) to ARRAY[2] (ARRAY<INTEGER>) with EQUAL.

INSERT INTO orders (id, rowoffset) VALUES (1, 2);
-- → line 1:25: Failed to insert values into 'ORDERS'. Inserting into column `ROWOFFSET` is not allowed.

INSERT INTO people (age) VALUES (2);
-- → line 1:1: Failed to insert values into 'PEOPLE'. Value for primary key column(s) NAME is required for tables

INSERT INTO nowhere VALUES (1);
-- → line 1:1: Cannot insert values into an unknown stream/table: `NOWHERE`

INSERT INTO "orders" VALUES (1);
-- → line 1:1: Cannot insert values into an unknown stream/table: `orders`
-- →   hint: did you mean ORDERS?

DELETE FROM poeple WHERE name = 'ann';
-- → line 1:1: Cannot delete rows of an unknown stream/table: `POEPLE`
-- →   hint: did you mean PEOPLE?

DELETE FROM orders WHERE id = 1;
-- → line 1:1: Cannot delete rows of a stream: ORDERS
-- →   hint: Kafka removes a stream's records by its topic's retention.ms

DELETE FROM people WHERE age = 3;
-- → line 1:26: DELETE FROM PEOPLE needs a WHERE that gives its key (NAME) values by = or IN, and nothing else

DELETE FROM people WHERE name = 'ann' AND age = 3;
-- → line 1:26: DELETE FROM PEOPLE needs a WHERE that gives its key (NAME) values by = or IN, and nothing else

DELETE FROM people WHERE name = 'ann' OR age = 3;
-- → line 1:26: DELETE FROM PEOPLE needs a WHERE that gives its key (NAME) values by = or IN, and nothing else

DELETE FROM people WHERE 1 = 1;
-- → line 1:26: DELETE FROM PEOPLE needs a WHERE that gives its key (NAME) values by = or IN, and nothing else

DELETE FROM people WHERE name > 'ann';
-- → line 1:26: DELETE FROM PEOPLE needs a WHERE that gives its key (NAME) values by = or IN, and nothing else

DELETE FROM people WHERE NOT name = 'ann';
-- → line 1:26: DELETE FROM PEOPLE needs a WHERE that gives its key (NAME) values by = or IN, and nothing else

DELETE FROM people WHERE nmae = 'ann';
-- → line 1:26: WHERE column 'NMAE' cannot be resolved.
-- →   hint: did you mean NAME?

DELETE FROM people WHERE name = 3;
-- → line 1:26: Error in WHERE expression: Cannot compare NAME (STRING) to 3 (INTEGER) with EQUAL.
-- →   hint: CAST one to the other's type

DELETE FROM people WHERE name;
-- → line 1:26: Type error in WHERE expression: Should evaluate to boolean but is NAME (STRING) instead.

DELETE FROM people WHERE COUNT(*) = 3;
-- → line 1:26: Error in WHERE expression: the aggregate function COUNT is not supported here
-- →   hint: an aggregate function is only allowed in the SELECT or HAVING of a query with GROUP BY

DELETE FROM people WHERE name = 'ann' AND rowtime < 5;
-- → line 1:26: DELETE FROM PEOPLE needs a WHERE that gives its key (NAME) values by = or IN, and nothing else

CREATE TABLE pairs_2 (a INT PRIMARY KEY, b INT PRIMARY KEY, v STRING) WITH (kafka_topic='p2', partitions=1, format='JSON'); DELETE FROM pairs_2 WHERE a = 1;
-- → Table created
-- → create topic p2 with 1 partition(s)
-- → PAIRS_2 (A INTEGER KEY, B INTEGER KEY, V STRING)
-- → line 1:151: DELETE FROM PAIRS_2 needs a WHERE that gives its key (A, B) values by = or IN, and nothing else

CREATE TABLE wide_key (a INT PRIMARY KEY, b INT PRIMARY KEY, c INT PRIMARY KEY, d INT PRIMARY KEY, v STRING) WITH (kafka_topic='w', partitions=1, format='JSON'); DELETE FROM wide_key WHERE a IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11) AND b IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10) AND c IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10) AND d IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
-- → Table created
-- → create topic w with 1 partition(s)
-- → WIDE_KEY (A INTEGER KEY, B INTEGER KEY, C INTEGER KEY, D INTEGER KEY, V STRING)
-- → line 1:190: DELETE FROM WIDE_KEY names 11000 keys, and may name 10000
-- →   hint: write several statements

CREATE TABLE per (k STRING PRIMARY KEY, n INT) WITH (kafka_topic='per', partitions=1, value_format='JSON', window_type='SESSION'); DELETE FROM per WHERE k = 'a';
-- → Table created
-- → create topic per with 1 partition(s)
-- → PER (K STRING KEY, N INTEGER)
-- → line 1:132: Cannot delete rows of windowed stream/table!

CREATE SOURCE TABLE only_read (k STRING PRIMARY KEY, n INT) WITH (kafka_topic='only', partitions=1, value_format='JSON'); DELETE FROM only_read WHERE k = 'a';
-- → Created query with ID CST_ONLY_READ_0
-- → create topic only with 1 partition(s)
-- → ONLY_READ (K STRING KEY, N INTEGER)
-- → line 1:123: Cannot delete rows of read-only table: ONLY_READ

CREATE TABLE counts AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; DELETE FROM counts WHERE n = 1;
-- → Created query with ID CTAS_COUNTS_0
-- → create topic COUNTS with 2 partition(s)
-- → start query CTAS_COUNTS_0
-- → COUNTS (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTS to topic COUNTS (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → line 1:103: DELETE FROM COUNTS needs a WHERE that gives its key (ITEM) values by = or IN, and nothing else
-- →   hint: SELECT ITEM FROM COUNTS WHERE … finds keys

DROP STREAM people;
-- → line 1:1: Incompatible data source type is table, but statement was DROP stream
-- →   hint: PEOPLE is a table

DROP STREAM given DELETE TOPIC;
-- → line 1:1: Cannot delete topic for read-only source: GIVEN

DROP TYPE nothing;
-- → line 1:1: Type NOTHING does not exist.

CREATE STREAM s (k STRING KEY, v addres) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:32: there is no type ADDRES
-- →   hint: SHOW TYPES lists the existing ones

TERMINATE nothing;
-- → line 1:1: Unknown queryId: NOTHING
-- →   hint: SHOW QUERIES lists the ids

CREATE STREAM s AS SELECT id, item FROM orders EMIT CHANGES LIMIT 5;
-- → line 1:20: a persistent query cannot have LIMIT
-- →   hint: LIMIT is for a SELECT that a client reads

CREATE TABLE t AS SELECT item, COUNT(*) FROM orders WHERE amount > 0;
-- → line 1:32: aggregate function COUNT without a GROUP BY clause
-- →   hint: group by an expression; a constant puts all rows in one group

CREATE TABLE t AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item HAVING COUNT(*) > 1 AND amount > 1;
-- → line 1:79: Non-aggregate HAVING expression not part of GROUP BY: AMOUNT
-- →   hint: a condition on single rows belongs in WHERE, before GROUP BY

CREATE TABLE t AS SELECT item, amount + COUNT(*) AS n FROM orders GROUP BY item;
-- → line 1:32: Column used in aggregate SELECT expression(s) outside of aggregate functions not part of GROUP BY: AMOUNT
-- →   hint: add it to the GROUP BY, or put it into an aggregate function

CREATE TABLE t AS SELECT item, COUNT(SUM(amount)) AS n FROM orders GROUP BY item;
-- → line 1:38: Aggregate functions can not be nested: COUNT(SUM())
-- →   hint: group a first time in an inner query: FROM (SELECT … GROUP BY …)

CREATE TABLE t AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item HAVING MAX(1 + SUM(amount)) > 1;
-- → line 1:87: Aggregate functions can not be nested: MAX(SUM())
-- →   hint: group a first time in an inner query: FROM (SELECT … GROUP BY …)

CREATE TABLE t AS SELECT *, COUNT(*) AS n FROM orders GROUP BY item;
-- → line 1:26: Non-aggregate SELECT expression(s) not part of GROUP BY: ORDERS.ID, ORDERS.AMOUNT, ORDERS.PRICE, ORDERS.TAGS, ORDERS.PLACE, ORDERS.PLACED
-- →   hint: add it to the GROUP BY, or remove it

CREATE TABLE t AS SELECT o.*, COUNT(*) AS n FROM orders o JOIN people p ON o.item = p.name GROUP BY o.item;
-- → line 1:26: Non-aggregate SELECT expression(s) not part of GROUP BY: O.ID, O.AMOUNT, O.PRICE, O.TAGS, O.PLACE, O.PLACED
-- →   hint: add it to the GROUP BY, or remove it

CREATE TABLE t AS SELECT item, TOPK(amount, 1 + 1) AS n FROM orders GROUP BY item;
-- → line 1:45: Parameter 2 passed to function TOPK must be a literal constant, but was expression: '1 + 1'

CREATE TABLE t AS SELECT item, TOPK(amount, NULL) AS n FROM orders GROUP BY item;
-- → line 1:32: TOPK requires a number of at least 1, as a constant; this is NULL

CREATE TABLE t AS SELECT id, item, amount + 1, price + COUNT(*) AS n FROM orders GROUP BY item;
-- → line 1:26: Non-aggregate SELECT expression(s) not part of GROUP BY: ID, AMOUNT + 1
-- →   hint: add it to the GROUP BY, or remove it

CREATE TABLE t AS SELECT item, amount + COUNT(*), price + id + COUNT(*) FROM orders GROUP BY item HAVING COUNT(*) > 1;
-- → line 1:32: Column used in aggregate SELECT expression(s) outside of aggregate functions not part of GROUP BY: AMOUNT, PRICE, ID
-- →   hint: add it to the GROUP BY, or put it into an aggregate function

CREATE TABLE t AS SELECT item, amount, COUNT(*) AS n FROM orders GROUP BY item;
-- → line 1:32: Non-aggregate SELECT expression(s) not part of GROUP BY: AMOUNT
-- →   hint: add it to the GROUP BY, or remove it

CREATE STREAM s AS SELECT * FROM orders o JOIN pairs p ON o.id = p.a;
-- → line 1:59: Invalid join condition: types don't match. Got O.ID{BIGINT} = P.A{INTEGER}.
-- →   hint: CAST one to the other's type

CREATE STREAM s (v INT) WITH (kafka_topic='s', partitions=1, value_format='DELIMITED', wrap_single_value=true);
-- → line 1:88: Format 'DELIMITED' does not support 'WRAP_SINGLE_VALUE' set to 'true'.
-- →   hint: DELIMITED has no records, a column is always bare; leave WRAP_SINGLE_VALUE out, or use AVRO, JSON, JSON_SR, PROTOBUF, PROTOBUF_NOSR

INSERT INTO narrow SELECT id, amount FROM orders;
-- → line 1:1: Incompatible schema between results and sink. Result schema is [ID BIGINT KEY, AMOUNT INTEGER], but the sink schema is [ID BIGINT KEY, AMOUNT DECIMAL(4, 2)].
-- →   hint: names, types and order of key and value columns must be the sink's

INSERT INTO orders (id, placed) VALUES (1, 'tomorrow');
-- → line 1:44: Failed to insert values into 'ORDERS'. Expected type TIMESTAMP for field `PLACED` but got STRING(tomorrow). Timestamp format must be yyyy-mm-ddThh:mm:ss[.S]
-- →   hint: a timestamp reads 2024-02-29T23:59:59.999, and may end in a zone such as +0200

INSERT INTO orders (id, amount) VALUES (1, 2 + amount);
-- → line 1:48: Failed to insert values into 'ORDERS'. Unsupported column reference in insert value: 2 + AMOUNT
-- →   hint: text is put in single quotes

INSERT INTO orders (id, item) VALUES (1, item);
-- → line 1:42: Failed to insert values into 'ORDERS'. Unsupported column reference in insert value: ITEM
-- →   hint: text is put in single quotes

INSERT INTO orders (id, item) VALUES (1, "x");
-- → line 1:42: Failed to insert values into 'ORDERS'. Unsupported column reference in insert value: `x`
-- →   hint: text is put in single quotes

SELECT o.id, people.age FROM orders o EMIT CHANGES;
-- → line 1:14: SELECT column 'PEOPLE.AGE' cannot be resolved.
-- →   hint: sources here: O

CREATE STREAM o AS SELECT * FROM orders PARTITION BY ();
-- → line 1:20: PARTITION BY does not name an expression
-- →   hint: PARTITION BY NULL removes the key

CREATE TABLE o AS SELECT COUNT(*) FROM orders GROUP BY ();
-- → line 1:19: GROUP BY does not name an expression
-- →   hint: a constant puts all rows in one group

CREATE TABLE o AS SELECT item, COUNT(*), EXPLODE(tags) FROM orders GROUP BY item;
-- → line 1:42: Table functions cannot be used with aggregations.
-- →   hint: make a stream of the rows first, and aggregate that

CREATE TABLE o AS SELECT item, SUM(item), EXPLODE(id) FROM orders GROUP BY item;
-- → line 1:43: Table functions cannot be used with aggregations.
-- →   hint: make a stream of the rows first, and aggregate that

CREATE TABLE o AS SELECT item, COUNT(EXPLODE(tags)) FROM orders GROUP BY item;
-- → line 1:38: Table functions cannot be used with aggregations.
-- →   hint: make a stream of the rows first, and aggregate that

CREATE TABLE o AS SELECT item, EXPLODE(COLLECT_LIST(amount)) FROM orders GROUP BY item;
-- → line 1:32: Table functions cannot be used with aggregations.
-- →   hint: make a stream of the rows first, and aggregate that

CREATE TABLE o AS SELECT item, COUNT(*) FROM orders GROUP BY item HAVING EXPLODE(tags) = 'x';
-- → line 1:74: Table functions cannot be used with aggregations.
-- →   hint: make a stream of the rows first, and aggregate that

CREATE TABLE o AS SELECT item, COUNT(*) FROM orders GROUP BY item, EXPLODE(tags);
-- → line 1:68: Table functions cannot be used with aggregations.
-- →   hint: make a stream of the rows first, and aggregate that

CREATE TABLE s AS SELECT amount + 1 AS k, COUNT(*) AS n FROM orders GROUP BY k;
-- → line 1:78: GROUP BY column 'K' cannot be resolved.
-- →   hint: an alias of SELECT cannot be referred to: write what K stands for

CREATE TABLE s AS SELECT amount, COUNT(*) AS n FROM orders GROUP BY amount HAVING n > 1;
-- → line 1:83: HAVING column 'N' cannot be resolved.
-- →   hint: an alias of SELECT cannot be referred to: write what N stands for

CREATE STREAM s AS SELECT id, amount AS sold FROM orders WHERE sold > 1;
-- → line 1:64: WHERE column 'SOLD' cannot be resolved.
-- →   hint: an alias of SELECT cannot be referred to: write what SOLD stands for

CREATE STREAM s AS SELECT id, amount AS sold, sold + 1 AS more FROM orders;
-- → line 1:47: SELECT column 'SOLD' cannot be resolved.
-- →   hint: an alias of SELECT cannot be referred to: write what SOLD stands for

SELECT id, amount AS `windowStart` FROM orders EMIT CHANGES;
-- → line 1:12: `windowStart` is a reserved column name. You cannot use it as an alias for a column.

SELECT EXPLODE(id), COUNT(*) FROM orders EMIT CHANGES;
-- → line 1:8: Table functions cannot be used with aggregations.
-- →   hint: make a stream of the rows first, and aggregate that

CREATE STREAM o AS SELECT * FROM orders WHERE EXPLODE(id) = 1;
-- → line 1:47: Table functions cannot be used in WHERE

CREATE TABLE o AS SELECT age, LATEST_BY_OFFSET(name), MIN(name), COUNT(*), MAX(age), MIN(age) FROM people GROUP BY age;
-- → line 1:31: The aggregation functions LATEST_BY_OFFSET, MIN and MAX cannot be applied to a table source, only to a stream source.
-- →   hint: LATEST_BY_OFFSET, MIN and MAX cannot take a row back, which changes of a table require

CREATE TABLE o AS SELECT name, EXPLODE(age) FROM people;
-- → line 1:32: Table source is not supported with table functions

INSERT INTO orders (id, price) VALUES (1, 10000);
-- → line 1:43: column PRICE: 10000 does not fit into DECIMAL(6, 2)

CREATE STREAM traced (id INT KEY, v INT, a BYTES HEADER('a'), b BYTES HEADER('b')) WITH (kafka_topic='orders', value_format='JSON'); INSERT INTO traced VALUES (1, 2);
-- → Stream created
-- → TRACED (ID INTEGER KEY, V INTEGER, A BYTES HEADER('a'), B BYTES HEADER('b'))
-- → line 1:134: Cannot insert into HEADER columns: A, B
-- →   hint: list the other columns: headers can only be read

CREATE STREAM traced (id INT KEY, v INT, a BYTES HEADER('a'), b BYTES HEADER('b')) WITH (kafka_topic='orders', value_format='JSON'); INSERT INTO traced (id, b) VALUES (1, NULL);
-- → Stream created
-- → TRACED (ID INTEGER KEY, V INTEGER, A BYTES HEADER('a'), B BYTES HEADER('b'))
-- → line 1:134: Cannot insert into HEADER columns: B
-- →   hint: list the other columns: headers can only be read

CREATE TABLE traced (id INT PRIMARY KEY, v INT, a BYTES HEADER('a')) WITH (kafka_topic='orders', value_format='JSON'); DELETE FROM traced WHERE id = 1;
-- → Table created
-- → TRACED (ID INTEGER KEY, V INTEGER, A BYTES HEADER('a'))
-- → line 1:120: Cannot delete rows of TRACED: it has header columns

INSERT INTO late_key VALUES (1, 'k');
-- → line 1:30: Failed to insert values into 'LATE_KEY'. Expected type STRING for field `K` but got INTEGER(1)
-- →   hint: CAST it

CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='new', value_format='JSON', partitions='²');
-- → line 1:85: PARTITIONS must be a whole number from 1 to 100000

CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='new', value_format='JSON', partitions='+-5');
-- → line 1:85: PARTITIONS must be a whole number from 1 to 100000

CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='new', value_format='JSON', partitions=0);
-- → line 1:85: PARTITIONS must be a whole number from 1 to 100000

CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='new', value_format='JSON', partitions=99999999999);
-- → line 1:85: PARTITIONS must be a whole number from 1 to 100000

CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='new', value_format='JSON', partitions=1, replicas=40000);
-- → line 1:99: REPLICAS must be a whole number from 1 to 32767, or -1 for the broker's default

CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='new', value_format='JSON', partitions=1, replicas=0);
-- → line 1:99: REPLICAS must be a whole number from 1 to 32767, or -1 for the broker's default

CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='orders', value_format='JSON', replicas=3);
-- → line 1:88: A Kafka topic with the name 'orders' already exists, with different partition/replica/retention configuration than required. KSQL expects 2 partitions (topic has 2), 3 replication factor (topic has 1), and 86400000 retention (topic has 86400000).
-- →   hint: leave REPLICAS out, or choose another topic

CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='orders', value_format='JSON', retention_ms=1000);
-- → line 1:88: A Kafka topic with the name 'orders' already exists, with different partition/replica/retention configuration than required. KSQL expects 2 partitions (topic has 2), 1 replication factor (topic has 1), and 1000 retention (topic has 86400000).
-- →   hint: leave RETENTION_MS out, or choose another topic

CREATE TABLE t (k STRING PRIMARY KEY, v INT) WITH (kafka_topic='people', value_format='JSON', retention_ms=1000);
-- → line 1:95: RETENTION_MS cannot be set for a table: its topic is compacted

CREATE TABLE t (k STRING PRIMARY KEY, v INT) WITH (kafka_topic='people', value_format='JSON', partitions=1);
-- → line 1:95: A Kafka topic with the name 'people' already exists, with different partition/replica configuration than required. KSQL expects 1 partitions (topic has 2), 1 replication factor (topic has 1).
-- →   hint: leave PARTITIONS out, or choose another topic

CREATE STREAM s WITH (kafka_topic='ones') AS SELECT * FROM given;
-- → line 1:1: A Kafka topic with the name 'ones' already exists, with different partition/replica configuration than required. KSQL expects 2 partitions (topic has 1), 1 replication factor (topic has 1).
-- →   hint: give PARTITIONS as the topic has it, or choose another topic

CREATE STREAM s WITH (kafka_topic='orders', partitions=4) AS SELECT * FROM given;
-- → line 1:45: A Kafka topic with the name 'orders' already exists, with different partition/replica/retention configuration than required. KSQL expects 4 partitions (topic has 2), 1 replication factor (topic has 1), and 86400000 retention (topic has 86400000).
-- →   hint: leave PARTITIONS out, or choose another topic

CREATE TABLE t WITH (kafka_topic='orders', retention_ms=864000000) AS
  SELECT k, COUNT(*) AS n FROM given WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY k;
-- → line 1:44: A Kafka topic with the name 'orders' already exists, with different partition/replica/retention configuration than required. KSQL expects 2 partitions (topic has 2), 1 replication factor (topic has 1), and 864000000 retention (topic has 86400000).
-- →   hint: leave RETENTION_MS out, or choose another topic

CREATE TABLE t WITH (kafka_topic='orders', partitions=3) AS SELECT k, COUNT(*) AS n FROM given GROUP BY k;
-- → line 1:44: A Kafka topic with the name 'orders' already exists, with different partition/replica configuration than required. KSQL expects 3 partitions (topic has 2), 1 replication factor (topic has 1).
-- →   hint: leave PARTITIONS out, or choose another topic

CREATE STREAM s WITH (kafka_topic='orders') AS SELECT * FROM given;
CREATE OR REPLACE STREAM s WITH (kafka_topic='orders', retention_ms=5) AS SELECT * FROM given;
-- → Created query with ID CSAS_S_0
-- → start query CSAS_S_0
-- → S (K STRING KEY, V INTEGER)
-- → Write STREAM S to topic orders (key KAFKA, value JSON)
-- →   Select K KEY, V
-- →     Read STREAM GIVEN from topic orders (key KAFKA, value JSON)
-- → line 2:56: A Kafka topic with the name 'orders' already exists, with different partition/replica/retention configuration than required. KSQL expects 2 partitions (topic has 2), 1 replication factor (topic has 1), and 5 retention (topic has 86400000).
-- →   hint: leave RETENTION_MS out, or choose another topic

CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='new', value_format='JSON', partitions=1, retention_ms=-2);
-- → line 1:99: RETENTION_MS must be a whole number of at least -1

CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='orders', value_format='AVRO', value_schema_id=-1);
-- → line 1:88: VALUE_SCHEMA_ID must be a whole number from 0 to 2147483647

CREATE STREAM big AS SELECT * FROM orders; DROP STREAM orders;
-- → Created query with ID CSAS_BIG_0
-- → create topic BIG with 2 partition(s)
-- → start query CSAS_BIG_0
-- → BIG (ID BIGINT KEY, ITEM STRING, AMOUNT INTEGER, PRICE DECIMAL(6, 2), TAGS ARRAY<STRING>, PLACE STRUCT<`CITY` STRING, `ZIP` INTEGER>, PLACED TIMESTAMP)
-- → Write STREAM BIG to topic BIG (key KAFKA, value JSON)
-- →   Select ID KEY, ITEM, AMOUNT, PRICE, TAGS, PLACE, PLACED
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → line 1:44: Cannot drop ORDERS.
-- → The following streams and/or tables read from this source: [BIG].
-- →   hint: You need to drop them before dropping ORDERS.

CREATE STREAM big AS SELECT * FROM orders; CREATE TABLE n AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; TERMINATE ALL; DROP STREAM orders;
-- → Created query with ID CSAS_BIG_0
-- → create topic BIG with 2 partition(s)
-- → start query CSAS_BIG_0
-- → BIG (ID BIGINT KEY, ITEM STRING, AMOUNT INTEGER, PRICE DECIMAL(6, 2), TAGS ARRAY<STRING>, PLACE STRUCT<`CITY` STRING, `ZIP` INTEGER>, PLACED TIMESTAMP)
-- → Write STREAM BIG to topic BIG (key KAFKA, value JSON)
-- →   Select ID KEY, ITEM, AMOUNT, PRICE, TAGS, PLACE, PLACED
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Created query with ID CTAS_N_1
-- → create topic N with 2 partition(s)
-- → start query CTAS_N_1
-- → N (ITEM STRING KEY, N BIGINT)
-- → Write TABLE N to topic N (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → All queries terminated.
-- → stop query CSAS_BIG_0
-- → stop query CTAS_N_1
-- → line 1:131: Cannot drop ORDERS.
-- → The following streams and/or tables read from this source: [BIG, N].
-- →   hint: You need to drop them before dropping ORDERS.

CREATE STREAM more (a INT KEY, b INT KEY) WITH (kafka_topic='pairs', partitions=2, format='JSON'); DROP STREAM pairs DELETE TOPIC;
-- → Stream created
-- → create topic pairs with 2 partition(s)
-- → MORE (A INTEGER KEY, B INTEGER KEY)
-- → line 1:100: Refusing to delete topic. Found other data sources (MORE) using topic pairs
-- →   hint: drop them first, or leave DELETE TOPIC out

CREATE STREAM more (a INT KEY, b INT KEY) WITH (kafka_topic='pairs', partitions=2, format='JSON'); DROP STREAM more; DROP STREAM pairs DELETE TOPIC;
-- → Stream created
-- → create topic pairs with 2 partition(s)
-- → MORE (A INTEGER KEY, B INTEGER KEY)
-- → Source MORE (topic: pairs) was dropped.
-- → Source PAIRS (topic: pairs) was dropped. Topic pairs was marked for deletion.
-- → delete topic pairs

INSERT INTO wide SELECT id, amount, price, 1 AS one FROM orders; DROP STREAM orders;
-- → Created query with ID INSERTQUERY_0
-- → start query INSERTQUERY_0
-- → Write STREAM WIDE to topic wide (key KAFKA, value JSON)
-- →   Select ID KEY, AMOUNT, PRICE, 1 AS ONE
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → line 1:66: Cannot drop ORDERS.
-- → The following queries read from this source: [INSERTQUERY_0].
-- → The following queries write into this source: [].
-- →   hint: You need to terminate them before dropping it.

DROP TABLE people DELETE TOPIC;
-- → line 1:1: topic people cannot be deleted: no statement created it
-- →   hint: millstream.delete.topics.of.others=true in the server's configuration allows it

CREATE STREAM s (k STRING KEY, v INT) WITH (kafka_topic='_schemas', value_format='JSON', partitions=1);
-- → line 1:1: topic _schemas is read-only
-- →   hint: ksql.readonly.topics says which topics are

CREATE STREAM s WITH (kafka_topic='_millstream-default__command_topic') AS SELECT * FROM orders;
-- → line 1:1: topic _millstream-default__command_topic is read-only
-- →   hint: it is one of the engine's own

CREATE STREAM s (k STRING KEY, `seen` BIGINT) WITH (kafka_topic='orders', value_format='JSON', timestamp='"SEEN"');
-- → line 1:96: The TIMESTAMP column set in the WITH clause does not exist in the schema: 'SEEN'
-- →   hint: did you mean `seen`?

CREATE STREAM s (k STRING KEY, v STRING) WITH (kafka_topic='orders', value_format='JSON', timestamp_format='yyyy-mm-ddTHH');
-- → line 1:91: Invalid datetime format for config:TIMESTAMP_FORMAT, reason:there is no pattern letter T: text must be in single quotes

CREATE STREAM s (k STRING KEY, v STRING) WITH (kafka_topic='orders', value_format='JSON', timestamp='v', timestamp_format='yyyy-mm-ddTHH');
-- → line 1:106: Invalid datetime format for config:TIMESTAMP_FORMAT, reason:there is no pattern letter T: text must be in single quotes

CREATE STREAM s WITH (value_format='AVRO', value_schema_full_name='com.example.my-order') AS SELECT * FROM orders;
-- → line 1:44: VALUE_SCHEMA_FULL_NAME is not a valid name of a schema for AVRO: 'com.example.my-order'
-- →   hint: names of letters, digits and _, with dots between them: com.example.Order

CREATE STREAM s WITH (value_format='JSON_SR', value_schema_full_name='my-order', value_delimiter='|') AS SELECT * FROM orders;
-- → line 1:82: JSON_SR does not support the following configs: [delimiter]

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted WITH (rebuild=true) AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item;
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
-- → line 1:210: COUNTED is being rebuilt as COUNTED_1
-- →   hint: DROP TABLE COUNTED_1 abandons the rebuild, ALTER TABLE COUNTED CUT OVER ends it now

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted WITH (rebuild=true) AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted_1 AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item;
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
-- → line 1:210: COUNTED_1 is the rebuild of COUNTED, and takes its name when it has caught up
-- →   hint: DROP TABLE COUNTED_1 abandons the rebuild, ALTER TABLE COUNTED CUT OVER ends it now

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted WITH (rebuild=true) AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY item; DROP TABLE counted;
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
-- → line 1:210: COUNTED is being rebuilt as COUNTED_1
-- →   hint: DROP TABLE COUNTED_1 abandons the rebuild, ALTER TABLE COUNTED CUT OVER ends it now

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted WITH (rebuild=true) AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY item; CREATE TABLE more AS SELECT * FROM counted;
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
-- → line 1:210: COUNTED is being rebuilt as COUNTED_1
-- →   hint: DROP TABLE COUNTED_1 abandons the rebuild, ALTER TABLE COUNTED CUT OVER ends it now

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted WITH (rebuild=true) AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY item; CREATE TABLE more AS SELECT * FROM counted_1;
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
-- → line 1:210: COUNTED_1 is the rebuild of COUNTED, and takes its name when it has caught up
-- →   hint: DROP TABLE COUNTED_1 abandons the rebuild, ALTER TABLE COUNTED CUT OVER ends it now

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE TABLE more AS SELECT * FROM counted; CREATE OR REPLACE TABLE counted WITH (rebuild=true) AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY item;
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Created query with ID CTAS_MORE_1
-- → create topic MORE with 1 partition(s)
-- → start query CTAS_MORE_1
-- → MORE (ITEM STRING KEY, N BIGINT)
-- → Write TABLE MORE to topic MORE (key KAFKA, value JSON)
-- →   Select ITEM KEY, N
-- →     Read TABLE COUNTED from topic COUNTED (key KAFKA, value JSON)
-- → line 1:123: Cannot rebuild table COUNTED: queries read it: CTAS_MORE_1
-- →   hint: TERMINATE them, and create them again after the cut-over: they would go on with the old topic

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted WITH (rebuild=true, kafka_topic='COUNTED') AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY item;
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → line 1:79: Cannot rebuild table COUNTED: the new query needs another topic than COUNTED
-- →   hint: leave KAFKA_TOPIC out, or name another topic

CREATE STREAM late AS SELECT id, item FROM orders; CREATE OR REPLACE STREAM late WITH (rebuild=true) AS SELECT id, amount FROM orders; INSERT INTO late SELECT id, item FROM orders;
-- → Created query with ID CSAS_LATE_0
-- → create topic LATE with 2 partition(s)
-- → start query CSAS_LATE_0
-- → LATE (ID BIGINT KEY, ITEM STRING)
-- → Write STREAM LATE to topic LATE (key KAFKA, value JSON)
-- →   Select ID KEY, ITEM
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Created query with ID CSAS_LATE_1; it rebuilds LATE as LATE_1 (topic LATE_1), and LATE is cut over to it when it has caught up
-- → create topic LATE_1 with 2 partition(s)
-- → start query CSAS_LATE_1
-- → LATE_1 (ID BIGINT KEY, AMOUNT INTEGER)
-- → Write STREAM LATE_1 to topic LATE_1 (key KAFKA, value JSON)
-- →   Select ID KEY, AMOUNT
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → line 1:136: LATE is being rebuilt as LATE_1
-- →   hint: DROP STREAM LATE_1 abandons the rebuild, ALTER STREAM LATE CUT OVER ends it now

ALTER TABLE nothing CUT OVER;
-- → line 1:1: Source NOTHING does not exist.

ALTER STREAM people CUT OVER;
-- → line 1:1: Incompatible data source type is TABLE, but statement was ALTER STREAM
-- →   hint: PEOPLE is a table

CREATE INDEX i ON orders (item);
-- → line 1:1: ORDERS is a stream: only a table can have an index
-- →   hint: an index finds the current rows of a table

CREATE INDEX i ON people (age);
-- → line 1:1: The PEOPLE table isn't queryable. To derive a queryable table, you can do 'CREATE TABLE QUERYABLE_PEOPLE AS SELECT * FROM PEOPLE'
-- →   hint: or declare it as CREATE SOURCE TABLE

CREATE INDEX i ON nowhere (age);
-- → line 1:1: Source NOWHERE does not exist.

CREATE INDEX i ON peeple (age);
-- → line 1:1: Source PEEPLE does not exist.
-- →   hint: did you mean PEOPLE?

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE INDEX i ON counted (m);
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → line 1:79: table COUNTED has no column M
-- →   hint: an index has columns of the table itself

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE INDEX i ON counted (n, n);
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → line 1:79: the index names column N twice

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE INDEX i ON counted (ROWTIME);
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → line 1:79: table COUNTED has no column ROWTIME
-- →   hint: an index has columns of the table itself

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE INDEX i ON counted (n); CREATE INDEX i ON counted (item);
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Index I created on COUNTED (N)
-- → line 1:110: Index I already exists: it is on COUNTED (N)
-- →   hint: DROP INDEX it first, or choose another name

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE OR REPLACE TABLE counted WITH (rebuild=true) AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY item; CREATE INDEX i ON counted_1 (n);
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
-- → line 1:210: COUNTED_1 is the rebuild of COUNTED, and takes its name when it has caught up
-- →   hint: create it on that table: the rebuild has the same indexes

CREATE SOURCE TABLE headed (k STRING PRIMARY KEY, v INT, h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS) WITH (kafka_topic='people', value_format='JSON'); CREATE INDEX i ON headed (h);
-- → Created query with ID CST_HEADED_0
-- → HEADED (K STRING KEY, V INTEGER, H ARRAY<STRUCT<`KEY` STRING, `VALUE` BYTES>> HEADERS)
-- → line 1:158: column H is of the record's headers
-- →   hint: an index is on columns of the key or the value

DROP INDEX nothing;
-- → line 1:1: Index NOTHING does not exist

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE INDEX by_n ON counted (n); DROP INDEX by_m;
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Index BY_N created on COUNTED (N)
-- → line 1:113: Index BY_M does not exist
-- →   hint: did you mean BY_N?

CREATE STREAM w (k STRING KEY, v INT) WITH (kafka_topic='orders', value_format='JSON', window_size='10 SECONDS');
-- → line 1:88: 'WINDOW_SIZE' should not be set for SESSION windows.
-- →   hint: WINDOW_TYPE='TUMBLING' or 'HOPPING' is missing

CREATE STREAM w (k STRING KEY, v INT) WITH (kafka_topic='orders', value_format='JSON', window_type='SESSION', window_size='10 SECONDS');
-- → line 1:111: 'WINDOW_SIZE' should not be set for SESSION windows.

CREATE STREAM w (k STRING KEY, v INT) WITH (kafka_topic='orders', value_format='JSON', window_type='TUMBLING');
-- → line 1:88: TUMBLING windows require 'WINDOW_SIZE' to be provided in the WITH clause. For example: 'WINDOW_SIZE'='10 SECONDS'

CREATE STREAM w (k STRING KEY, v INT) WITH (kafka_topic='orders', value_format='JSON', window_type='SLIDING', window_size='10 SECONDS');
-- → line 1:88: Error in WITH clause property 'WINDOW_TYPE': Unknown window type: 'SLIDING'
-- →   hint: Valid values are: SESSION, HOPPING, TUMBLING

CREATE STREAM w (k STRING KEY, v INT) WITH (kafka_topic='orders', value_format='JSON', window_type='HOPPING', window_size='0 SECONDS');
-- → line 1:111: Error in WITH clause property 'WINDOW_SIZE': Invalid duration: '0 SECONDS'
-- →   hint: Example valid value: '10 SECONDS'

CREATE STREAM w (k STRING KEY, v INT) WITH (kafka_topic='orders', value_format='JSON', window_type='HOPPING', window_size='99999999999999 DAYS');
-- → line 1:111: Error in WITH clause property 'WINDOW_SIZE': Invalid duration: '99999999999999 DAYS'
-- →   hint: Example valid value: '10 SECONDS'

CREATE STREAM s AS SELECT id, amount FROM orders PARTITION BY UCASE(item);
-- → line 1:20: The query used to build S must include the partitioning expression UCASE(ITEM) in its projection.
-- →   hint: SELECT UCASE(ITEM), …

CREATE STREAM s AS SELECT o.* FROM orders o JOIN wide w WITHIN 1 HOUR ON o.id = w.id PARTITION BY w.one;
-- → line 1:20: The query used to build S must include the partitioning expression W.ONE in its projection.
-- →   hint: SELECT W.ONE, …

CREATE TABLE s AS SELECT COUNT(*) AS n FROM orders o JOIN wide w WITHIN 1 HOUR ON o.id = w.id GROUP BY w.one;
-- → line 1:19: The query used to build S must include the grouping expression W.ONE in its projection.
-- →   hint: SELECT W.ONE, …

SELECT * FROM orders WHERE item = "apple" EMIT CHANGES;
-- → line 1:35: WHERE column 'apple' cannot be resolved.
-- →   hint: text is put in single quotes; columns here: ID, ITEM, AMOUNT, PRICE, TAGS, PLACE, PLACED

SELECT * FROM orders WHERE item = "ITEMS" EMIT CHANGES;
-- → line 1:35: WHERE column 'ITEMS' cannot be resolved.
-- →   hint: did you mean ITEM?

CREATE STREAM x (a INT);
-- → line 1:1: Missing required property "KAFKA_TOPIC" which has no default value.
-- →   hint: the columns are followed by WITH (KAFKA_TOPIC='…', VALUE_FORMAT='JSON')

CREATE STREAM x (a FLOAT) WITH (kafka_topic='x', partitions=1, value_format='JSON');
-- → line 1:18: there is no type FLOAT
-- →   hint: write DOUBLE

SELECT CAST(amount AS TEXT) FROM orders EMIT CHANGES;
-- → line 1:8: there is no type TEXT
-- →   hint: write STRING

ALTER STREAM nothing ADD x INT;
-- → line 1:1: Source NOTHING does not exist.

ALTER TABLE orders ADD x INT;
-- → line 1:1: Incompatible data source type is STREAM, but statement was ALTER TABLE
-- →   hint: ORDERS is a stream

ALTER STREAM orders ADD item STRING;
-- → line 1:25: Cannot add column `ITEM` to schema. A column with the same name already exists.

CREATE STREAM copy AS SELECT * FROM orders; ALTER STREAM copy ADD x INT;
-- → Created query with ID CSAS_COPY_0
-- → create topic COPY with 2 partition(s)
-- → start query CSAS_COPY_0
-- → COPY (ID BIGINT KEY, ITEM STRING, AMOUNT INTEGER, PRICE DECIMAL(6, 2), TAGS ARRAY<STRING>, PLACE STRUCT<`CITY` STRING, `ZIP` INTEGER>, PLACED TIMESTAMP)
-- → Write STREAM COPY to topic COPY (key KAFKA, value JSON)
-- →   Select ID KEY, ITEM, AMOUNT, PRICE, TAGS, PLACE, PLACED
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → line 1:45: ALTER command is not supported for CREATE ... AS statements.
-- →   hint: COPY was created by CREATE STREAM AS: use CREATE OR REPLACE

CREATE TYPE address AS STRUCT<city STRING>; CREATE TYPE address AS INT;
-- → Registered custom type with name 'ADDRESS' and SQL type STRUCT<`CITY` STRING>
-- → line 1:45: Cannot register custom type 'ADDRESS' since it is already registered with type: STRUCT<`CITY` STRING>
-- →   hint: DROP TYPE it first

SHOW STREAMS;
-- → line 1:1: SHOW is for a server: a test does not execute it
-- →   hint: a test has CREATE, ALTER, DROP, INSERT INTO, SET, UNSET, DEFINE, UNDEFINE, and in SQL files RUN SCRIPT and ASSERT

ASSERT TOPIC orders;
-- → line 1:1: ASSERT TOPIC is for a server: a test does not execute it
-- →   hint: a test has CREATE, ALTER, DROP, INSERT INTO, SET, UNSET, DEFINE, UNDEFINE, and in SQL files RUN SCRIPT and ASSERT

INSERT INTO people (name, aeg) VALUES ('a', 1);
-- → line 1:27: Failed to insert values into 'PEOPLE'. Column name `AEG` does not exist.
-- →   hint: did you mean AGE?

INSERT INTO orders (id, item, ROWVALUE.nothing) VALUES (1, 'a', 2);
-- → line 1:31: Failed to insert values into 'ORDERS'. Column name ROWVALUE.`NOTHING` does not exist.

CREATE TABLE t AS SELECT item, item * 2 + COUNT(*) AS n FROM orders GROUP BY item HAVING SUM(item) > 1;
-- → line 1:32: Error processing expression: (ITEM * 2). Unsupported arithmetic types. STRING INTEGER
-- →   hint: CAST one to the other's type

CREATE TABLE t AS SELECT item, SUM(item) AS n FROM orders GROUP BY item HAVING COUNT(*) > 'x';
-- → line 1:32: Function 'SUM' does not accept parameters (STRING).
-- →   hint: valid calls are SUM(value INTEGER); SUM(value BIGINT); SUM(value DOUBLE); SUM(value DECIMAL)

CREATE TABLE t AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item HAVING MAX(amount) + 1;
-- → line 1:79: Type error in HAVING expression: Should evaluate to boolean but is MAX(AMOUNT) + 1 (INTEGER) instead.

CREATE TABLE t AS SELECT item * 2 AS x, COUNT(*) AS n FROM orders GROUP BY item HAVING nowhere > 1;
-- → line 1:88: HAVING column 'NOWHERE' cannot be resolved.
-- →   hint: columns here: ID, ITEM, AMOUNT, PRICE, TAGS, PLACE, PLACED

CREATE STREAM t AS SELECT id, nowhere FROM orders WHERE item > 1;
-- → line 1:31: SELECT column 'NOWHERE' cannot be resolved.
-- →   hint: columns here: ID, ITEM, AMOUNT, PRICE, TAGS, PLACE, PLACED

CREATE STREAM t AS SELECT id, item * 2 FROM orders WHERE nowhere > 1 AND item > 1;
-- → line 1:58: WHERE column 'NOWHERE' cannot be resolved.
-- →   hint: columns here: ID, ITEM, AMOUNT, PRICE, TAGS, PLACE, PLACED

CREATE STREAM t AS SELECT item * 2 FROM orders WHERE item > 1 PARTITION BY nowhere;
-- → line 1:76: PARTITION BY column 'NOWHERE' cannot be resolved. 'NOWHERE' must be a column in the source schema since PARTITION BY is applied on the input.
-- →   hint: columns here: ID, ITEM, AMOUNT, PRICE, TAGS, PLACE, PLACED

CREATE STREAM t AS SELECT id, TRANSFORM(tags, tag => nowhere) FROM orders WHERE item > 1;
SELECT * FROM orders o PARTITION BY o.itm EMIT CHANGES;
-- → line 1:54: SELECT column 'NOWHERE' cannot be resolved.
-- →   hint: columns here: ID, ITEM, AMOUNT, PRICE, TAGS, PLACE, PLACED

SELECT item AS thing FROM orders PARTITION BY thing EMIT CHANGES;
-- → line 1:47: PARTITION BY column 'THING' cannot be resolved. 'THING' must be a column in the source schema since PARTITION BY is applied on the input.
-- →   hint: an alias of SELECT cannot be referred to: write what THING stands for

SELECT item, COUNT(*) FROM orders GROUP BY item HAVING SUM(amuont) > 1 EMIT CHANGES;
-- → line 1:60: HAVING column 'AMUONT' cannot be resolved.
-- →   hint: did you mean AMOUNT?

SELECT item, SUM(amuont) FROM orders GROUP BY item HAVING SUM(amuont) > 1 EMIT CHANGES;
-- → line 1:63: HAVING column 'AMUONT' cannot be resolved.
-- →   hint: did you mean AMOUNT?

SELECT TRANSFORM(tags, t => t + itm) AS x FROM orders EMIT CHANGES;
-- → line 1:33: SELECT column 'ITM' cannot be resolved.
-- →   hint: did you mean ITEM?

SELECT place->town FROM orders EMIT CHANGES;
-- → line 1:8: Could not find field 'TOWN' in 'PLACE'.
-- →   hint: it is a STRUCT<`CITY` STRING, `ZIP` INTEGER>

INSERT INTO orders (id, amount, amount) VALUES (1, 'two', 2);
CREATE TABLE t AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item EMIT FINAL;
-- → line 1:52: Failed to insert values into 'ORDERS'. Expected type INTEGER for field `AMOUNT` but got STRING(two)
-- →   hint: CAST it

CREATE TABLE t AS SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR, OFFSET 60 MINUTES) GROUP BY item;
-- → line 1:65: OFFSET has to be shorter than the window's SIZE
-- →   hint: days that begin two hours before midnight UTC are SIZE 1 DAY, OFFSET 22 HOURS

CREATE TABLE t AS SELECT item, COUNT(*) AS n FROM orders WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 10 MINUTES, OFFSET 15 MINUTES) GROUP BY item;
-- → line 1:65: OFFSET has to be shorter than the window's ADVANCE BY
-- →   hint: days that begin two hours before midnight UTC are SIZE 1 DAY, OFFSET 22 HOURS

CREATE TABLE t AS SELECT item, COUNT(*) AS n FROM orders WINDOW SESSION (1 HOUR, OFFSET 15 MINUTES) GROUP BY item;
-- → line 1:80: unexpected ','; expected ',' RETENTION, ',' GRACE PERIOD or ')'

CREATE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 DAY) GROUP BY item; CREATE OR REPLACE TABLE counted AS SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 DAY, OFFSET 22 HOURS) GROUP BY item;
-- → Created query with ID CTAS_COUNTED_0
-- → create topic COUNTED with 2 partition(s)
-- → start query CTAS_COUNTED_0
-- → COUNTED (ITEM STRING KEY, N BIGINT)
-- → Write TABLE COUNTED to topic COUNTED (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM in TUMBLING windows of 86400000 ms, grace 0 ms, emitted at each row: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → line 1:108: Cannot replace table COUNTED: its window cannot change
-- →   hint: it has TUMBLING of 86400000 ms; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept
