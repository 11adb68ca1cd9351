SELECT window_start, window_end, SUM(amount) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(placed), INTERVAL '10' MINUTES)) GROUP BY window_start, window_end;
-- → line 1:51: unexpected TABLE; expected '(' or the name of a stream or table
-- →   hint: a window is a clause: FROM a WINDOW TUMBLING (SIZE 10 MINUTES) GROUP BY …, with WINDOWSTART and WINDOWEND

SELECT * FROM TUMBLE(TABLE orders, DESCRIPTOR(placed), INTERVAL '10' MINUTES) EMIT CHANGES;
-- → line 1:21: unexpected '('; expected the end of the statement
-- →   hint: a window is a clause: FROM a WINDOW TUMBLING (SIZE 10 MINUTES) GROUP BY …, with WINDOWSTART and WINDOWEND

SELECT TUMBLE_START(placed, INTERVAL '1' HOUR), COUNT(*) FROM orders GROUP BY TUMBLE(placed, INTERVAL '1' HOUR) EMIT CHANGES;
-- → line 1:42: unexpected HOUR; expected ',' or ')'
-- →   hint: a window is a clause: FROM a WINDOW TUMBLING (SIZE 10 MINUTES) GROUP BY …, with WINDOWSTART and WINDOWEND

SELECT item, COUNT(*) FROM orders GROUP BY item, HOP(placed, INTERVAL '1' HOUR, INTERVAL '2' HOUR) EMIT CHANGES;
-- → line 1:75: unexpected HOUR; expected ',' or ')'
-- →   hint: a window is a clause: FROM a WINDOW TUMBLING (SIZE 10 MINUTES) GROUP BY …, with WINDOWSTART and WINDOWEND

CREATE TABLE t (id STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector'='kafka', 'topic'='orders', 'format'='json');
-- → line 1:59: unexpected ts; expected ARRAY, HEADER, KEY, PRIMARY KEY, HEADERS, ',' or ')'
-- →   hint: the column with a record's time is named by WITH (TIMESTAMP='ts'); how long a window waits is its GRACE PERIOD

CREATE STREAM t (id STRING KEY, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:61: unexpected ts; expected ARRAY, HEADER, KEY, PRIMARY KEY, HEADERS, ',' or ')'
-- →   hint: the column with a record's time is named by WITH (TIMESTAMP='ts'); how long a window waits is its GRACE PERIOD

CREATE TABLE t (id STRING, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:48: unexpected id; expected STRING or a whole number
-- →   hint: PRIMARY KEY follows its column's type, for each column of the key: id STRING PRIMARY KEY

CREATE TABLE t (id STRING PRIMARY KEY NOT ENFORCED, v INT) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:39: unexpected NOT; expected ',' or ')'
-- →   hint: PRIMARY KEY says it alone: a later row of the same key replaces the earlier one

CREATE TABLE t (id STRING, v INT, PRIMARY KEY (id)) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:48: unexpected id; expected STRING or a whole number
-- →   hint: PRIMARY KEY follows its column's type, for each column of the key: id STRING PRIMARY KEY

CREATE TABLE t (id STRING NOT NULL PRIMARY KEY, v INT) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:27: unexpected NOT; expected ARRAY, HEADER, KEY, PRIMARY KEY, HEADERS, ',' or ')'
-- →   hint: leave it out: each column can be NULL but those of a table's key

CREATE TABLE t (id STRING PRIMARY KEY, v INT NOT NULL) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:46: unexpected NOT; expected ARRAY, HEADER, KEY, PRIMARY KEY, HEADERS, ',' or ')'
-- →   hint: leave it out: each column can be NULL but those of a table's key

CREATE TABLE t (id STRING PRIMARY KEY, v INT DEFAULT 0) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:46: unexpected DEFAULT; expected ARRAY, HEADER, KEY, PRIMARY KEY, HEADERS, ',' or ')'
-- →   hint: columns have no defaults: a query over this source writes COALESCE(v, 0)

CREATE STREAM t (id STRING KEY, proctime AS PROCTIME()) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:42: unexpected AS; expected a type
-- →   hint: a column is computed in a query over this source: CREATE STREAM … AS SELECT

CREATE STREAM t (id STRING KEY, ts TIMESTAMP METADATA FROM 'timestamp') WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:46: unexpected METADATA; expected ARRAY, HEADER, KEY, PRIMARY KEY, HEADERS, ',' or ')'
-- →   hint: a record's time and place are ROWTIME, ROWPARTITION, ROWOFFSET; a header is BYTES HEADER('name')

CREATE STREAM t (id STRING KEY, v ROW<a INT, b STRING>) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:38: unexpected '<'; expected ARRAY, HEADER, KEY, PRIMARY KEY, HEADERS, ',' or ')'
-- →   hint: a row inside a row is a STRUCT<name STRING, age INT>

CREATE STREAM t (id STRING KEY, v FLOAT) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:33: there is no type FLOAT
-- →   hint: write DOUBLE

CREATE STREAM t (id STRING KEY, v TEXT) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:33: there is no type TEXT
-- →   hint: write STRING

CREATE STREAM t (id STRING KEY, v NUMERIC(10,2)) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:33: there is no type NUMERIC
-- →   hint: write DECIMAL(10, 2)

CREATE STREAM t (id STRING KEY, v DATETIME) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:33: there is no type DATETIME
-- →   hint: write TIMESTAMP

CREATE STREAM t (id SERIAL, v JSONB) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:18: there is no type SERIAL
-- →   hint: write INTEGER

CREATE STREAM t (id UUID KEY, v INT[]) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:36: unexpected '['; expected ARRAY, HEADER, KEY, PRIMARY KEY, HEADERS, ',' or ')'
-- →   hint: an array of numbers is an ARRAY<INT>

CREATE STREAM t (id STRING KEY, v TINYINT) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:33: there is no type TINYINT
-- →   hint: write INTEGER

CREATE STREAM t (id STRING KEY, v TIMESTAMP WITH TIME ZONE) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:45: unexpected WITH; expected ARRAY, HEADER, KEY, PRIMARY KEY, HEADERS, ',' or ')'
-- →   hint: TIMESTAMP alone: it is a moment, and is shown in UTC

CREATE TABLE t (id STRING, v INT) USING parquet;
-- → line 1:35: unexpected USING; expected WITH or the end of the statement
-- →   hint: what it reads is a Kafka topic: WITH (KAFKA_TOPIC='…', VALUE_FORMAT='JSON')

CREATE TABLE t (id STRING, v INT) USING kafka OPTIONS ('kafka.bootstrap.servers'='x');
-- → line 1:35: unexpected USING; expected WITH or the end of the statement
-- →   hint: what it reads is a Kafka topic: WITH (KAFKA_TOPIC='…', VALUE_FORMAT='JSON')

CREATE TABLE t (id STRING, v INT) PARTITIONED BY (id) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:35: unexpected PARTITIONED; expected WITH or the end of the statement
-- →   hint: a topic has partitions, WITH (PARTITIONS=4), and a row goes to that of its key; PARTITION BY in a query

CREATE TABLE t PARTITIONED BY (item) AS SELECT item, COUNT(*) FROM orders GROUP BY item;
-- → line 1:16: unexpected PARTITIONED; expected WITH, AS or the end of the statement
-- →   hint: a topic has partitions, WITH (PARTITIONS=4), and a row goes to that of its key; PARTITION BY in a query

CREATE VIEW v (a, b) AS SELECT id, item FROM orders;
-- → line 1:15: unexpected '('; expected AS

CREATE OR REPLACE TEMPORARY VIEW v AS SELECT * FROM orders;
-- → line 1:19: unexpected TEMPORARY; expected FUNCTION, VIEW, SOURCE, STREAM or TABLE
-- →   hint: a view stays until it is dropped: CREATE VIEW name AS SELECT …

CREATE MATERIALIZED VIEW v AS SELECT item, COUNT(*) FROM orders GROUP BY item;
-- → line 1:8: unexpected MATERIALIZED; expected TYPE, INDEX, OR REPLACE, FUNCTION, VIEW, SOURCE, STREAM or TABLE
-- →   hint: a materialized view is a stream or table: CREATE STREAM|TABLE … AS SELECT …

CREATE TEMPORARY TABLE t (id STRING PRIMARY KEY) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:8: unexpected TEMPORARY; expected TYPE, INDEX, OR REPLACE, FUNCTION, VIEW, SOURCE, STREAM or TABLE
-- →   hint: a stream or table stays until it is dropped; a query that ends with its client is a SELECT alone

CREATE EXTERNAL TABLE t (id STRING) STORED AS PARQUET;
-- → line 1:8: unexpected EXTERNAL; expected TYPE, INDEX, OR REPLACE, FUNCTION, VIEW, SOURCE, STREAM or TABLE
-- →   hint: each stream or table reads a topic: CREATE TABLE … WITH (KAFKA_TOPIC='…', VALUE_FORMAT='…')

CREATE DATABASE shop;
-- → line 1:8: unexpected DATABASE; expected TYPE, INDEX, OR REPLACE, FUNCTION, VIEW, SOURCE, STREAM or TABLE
-- →   hint: there are no databases or schemas: a name is that of one stream or table

USE shop;
-- → line 1:1: unexpected USE; expected a statement
-- →   hint: there are no databases or schemas: a name is that of one stream or table

SELECT window(placed, '10 minutes'), COUNT(*) FROM orders GROUP BY window(placed, '10 minutes') EMIT CHANGES;
-- → line 1:8: unexpected window; expected DISTINCT, '*' or an expression
-- →   hint: WINDOW TUMBLING (SIZE 10 MINUTES) follows FROM and its joins, before WHERE

SELECT id, tag FROM orders LATERAL VIEW explode(tags) t AS tag EMIT CHANGES;
-- → line 1:36: unexpected VIEW; expected the end of the statement
-- →   hint: the elements of an array become rows in SELECT: SELECT id, EXPLODE(tags) AS tag FROM a

SELECT id, tag FROM orders CROSS JOIN UNNEST(tags) AS t(tag) EMIT CHANGES;
-- → line 1:45: unexpected '('; expected AS, WITHIN or ON
-- →   hint: the elements of an array become rows in SELECT: SELECT id, EXPLODE(tags) AS tag FROM a

SELECT id, tag FROM orders, UNNEST(tags) AS t(tag) EMIT CHANGES;
-- → line 1:27: unexpected ','; expected the end of the statement
-- →   hint: the elements of an array become rows in SELECT: SELECT id, EXPLODE(tags) AS tag FROM a

SELECT id, tag FROM orders, people EMIT CHANGES;
-- → line 1:27: unexpected ','; expected the end of the statement
-- →   hint: sources are joined: FROM a JOIN b ON a.id = b.id

SELECT id::STRING FROM orders EMIT CHANGES;
-- → line 1:10: the character ':' means nothing here
-- →   hint: a type is changed by CAST(a AS INTEGER); fields of STRUCT and MAP are written name := value

SELECT amount::varchar(10) FROM orders EMIT CHANGES;
-- → line 1:14: the character ':' means nothing here
-- →   hint: a type is changed by CAST(a AS INTEGER); fields of STRUCT and MAP are written name := value

SELECT * FROM orders WHERE item ILIKE '%a%' EMIT CHANGES;
-- → line 1:33: unexpected ILIKE; expected GROUP BY, PARTITION BY, HAVING, UNION, ORDER BY, EMIT CHANGES, EMIT FINAL, LIMIT, OFFSET or the end of the statement
-- →   hint: LIKE regards the case: UCASE(a) LIKE 'X%'

SELECT * FROM orders WHERE item RLIKE '^a' EMIT CHANGES;
-- → line 1:33: unexpected RLIKE; expected GROUP BY, PARTITION BY, HAVING, UNION, ORDER BY, EMIT CHANGES, EMIT FINAL, LIMIT, OFFSET or the end of the statement
-- →   hint: a regular expression is matched by REGEXP_EXTRACT('^a', t) IS NOT NULL

SELECT * FROM orders WHERE item ~ '^a' EMIT CHANGES;
-- → line 1:33: the character '~' means nothing here
-- →   hint: a regular expression is matched by REGEXP_EXTRACT('^a', t) IS NOT NULL

SELECT * FROM orders WHERE item SIMILAR TO 'a' EMIT CHANGES;
-- → line 1:33: unexpected SIMILAR; expected GROUP BY, PARTITION BY, HAVING, UNION, ORDER BY, EMIT CHANGES, EMIT FINAL, LIMIT, OFFSET or the end of the statement
-- →   hint: a regular expression is matched by REGEXP_EXTRACT('^a', t) IS NOT NULL

INSERT INTO orders (id, item) VALUES (1, 'a') RETURNING id;
-- → line 1:47: unexpected RETURNING; expected the end of the statement
-- →   hint: INSERT does not return rows: SELECT … FROM a shows it

INSERT INTO orders (id, item) VALUES (1, 'a'), (2, 'b');
-- → line 1:46: INSERT INTO … VALUES writes one row
-- →   hint: write a statement for each row

INSERT INTO TABLE orders SELECT * FROM given;
-- → line 1:13: unexpected TABLE; expected the name of a stream or table
-- →   hint: the name alone: INSERT INTO a SELECT …

INSERT OVERWRITE orders SELECT * FROM given;
-- → line 1:8: unexpected OVERWRITE; expected INTO
-- →   hint: what is in a topic stays there: INSERT INTO a SELECT …

INSERT INTO orders (id, amount) SELECT id, amount FROM orders;
-- → line 1:33: unexpected SELECT; expected VALUES
-- →   hint: INSERT INTO a SELECT … has no list of columns: SELECT names them, SELECT v AS name

INSERT INTO orders SET id = 1;
-- → line 1:20: unexpected SET; expected VALUES, WITH or SELECT
-- →   hint: INSERT INTO a (x, y) VALUES (1, 2)

INSERT INTO people VALUES ('a', 1) ON CONFLICT DO NOTHING;
-- → line 1:36: unexpected ON; expected the end of the statement
-- →   hint: INSERT replaces the row of a table that has the same key

UPSERT INTO people VALUES ('a', 1);
-- → line 1:1: unexpected UPSERT; expected a statement
-- →   hint: a row of a table is replaced by INSERT INTO … VALUES with the same key

UPDATE people SET age = 3 WHERE name = 'a';
-- → line 1:1: unexpected UPDATE; expected a statement
-- →   hint: a row of a table is replaced by INSERT INTO … VALUES with the same key

DELETE FROM orders WHERE id = 1;
-- → line 1:1: Cannot delete rows of a stream: ORDERS
-- →   hint: Kafka removes a stream's records by its topic's retention.ms

MERGE INTO people USING orders ON people.name = orders.item WHEN MATCHED THEN UPDATE SET age = 1;
-- → line 1:1: unexpected MERGE; expected a statement
-- →   hint: a row of a table is replaced by INSERT INTO … VALUES with the same key

TRUNCATE TABLE people;
-- → line 1:1: unexpected TRUNCATE; expected a statement
-- →   hint: a topic is emptied by DROP STREAM|TABLE … DELETE TOPIC, and CREATE again

SELECT COUNT(*) OVER (PARTITION BY item) FROM orders EMIT CHANGES;
-- → line 1:40: the rows of OVER are in the order in which they arrive: ORDER BY ROWOFFSET
-- →   hint: a query that keeps running does not hold a row back until all with earlier times are there; ORDER BY ROWTIME RANGE 1 HOUR PRECEDING takes those of the last hour

SELECT item, ROW_NUMBER() OVER (PARTITION BY item ORDER BY placed DESC) AS rn FROM orders EMIT CHANGES;
-- → line 1:60: the rows of OVER are in the order in which they arrive: ORDER BY ROWOFFSET
-- →   hint: a query that keeps running does not hold a row back until all with earlier times are there; ORDER BY ROWTIME RANGE 1 HOUR PRECEDING takes those of the last hour

SELECT item, COUNT(*) FILTER (WHERE amount > 3) FROM orders GROUP BY item EMIT CHANGES;
-- → Answer ITEM, COUNT(*) FILTER (WHERE AMOUNT > 3) AS KSQL_COL_0
-- →   Group by ITEM: COUNT(*) FILTER (WHERE AMOUNT > 3)
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

SELECT item FROM orders WHERE placed > NOW() - INTERVAL '1' HOUR EMIT CHANGES;
-- → line 1:61: unexpected HOUR; expected GROUP BY, PARTITION BY, HAVING, UNION, ORDER BY, EMIT CHANGES, EMIT FINAL, LIMIT, OFFSET or the end of the statement
-- →   hint: a time is moved by TIMESTAMPADD(HOURS, 1, t) and TIMESTAMPSUB; a duration is written 1 HOUR

SELECT item FROM orders WHERE placed > CURRENT_TIMESTAMP - INTERVAL 1 HOUR EMIT CHANGES;
-- → line 1:69: unexpected 1; expected GROUP BY, PARTITION BY, HAVING, UNION, ORDER BY, EMIT CHANGES, EMIT FINAL, LIMIT, OFFSET or the end of the statement
-- →   hint: a time is moved by TIMESTAMPADD(HOURS, 1, t) and TIMESTAMPSUB; a duration is written 1 HOUR

SELECT item FROM orders ORDER BY item EMIT CHANGES;
-- → line 1:1: Push queries don't support ORDER BY clauses.
-- →   hint: pull queries on tables have it, if millstream.pull.relational is true

SELECT item FROM orders LIMIT 10 OFFSET 20;
-- → line 1:1: Pull queries don't support OFFSET clauses.
-- →   hint: pull queries on tables have it, if millstream.pull.relational is true

SELECT TOP 10 item FROM orders;
-- → line 1:12: unexpected 10; expected AS, ',' or FROM
-- →   hint: the number of rows is written at the end: LIMIT 5

SELECT item FROM orders FETCH FIRST 10 ROWS ONLY;
-- → line 1:31: unexpected FIRST; expected the end of the statement
-- →   hint: the number of rows is written at the end: LIMIT 5

SELECT item FROM orders WHERE id IN (SELECT age FROM people) EMIT CHANGES;
-- → line 1:38: unexpected SELECT; expected an expression
-- →   hint: a query is allowed in FROM only: join it, FROM a JOIN b ON a.id = b.id

SELECT item FROM orders WHERE EXISTS (SELECT 1 FROM people) EMIT CHANGES;
-- → line 1:31: unexpected EXISTS; expected an expression
-- →   hint: a query is allowed in FROM only: join it, FROM a JOIN b ON a.id = b.id

SELECT (SELECT MAX(age) FROM people) FROM orders EMIT CHANGES;
-- → line 1:9: unexpected SELECT; expected an expression
-- →   hint: a query in parentheses is allowed in FROM only: CREATE a stream or table AS the inner query and select from that

SELECT item FROM orders QUALIFY ROW_NUMBER() OVER (PARTITION BY item ORDER BY placed) = 1;
-- → line 1:33: unexpected ROW_NUMBER; expected the end of the statement
-- →   hint: FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ROWOFFSET) AS n FROM a) WHERE n = 1

SELECT item || 'x', amount % 3, amount DIV 2 FROM orders EMIT CHANGES;
-- → line 1:44: unexpected 2; expected ',' or FROM
-- →   hint: whole numbers are divided by /, without a remainder; that is %

SELECT item FROM orders WHERE item = "a" EMIT CHANGES;
-- → line 1:38: WHERE column 'a' cannot be resolved.
-- →   hint: text is put in single quotes; columns here: ID, ITEM, AMOUNT, PRICE, TAGS, PLACE, PLACED

SELECT item FROM orders WHERE item == 'a' EMIT CHANGES;
-- → line 1:37: unexpected '='; expected an expression
-- →   hint: equality is written =, and comparisons do not chain: a = b AND b = c

SELECT o.id FROM orders o JOIN pairs p ON o.id = p.a EMIT CHANGES;
-- → line 1:43: Invalid join condition: types don't match. Got O.ID{BIGINT} = P.A{INTEGER}.
-- →   hint: CAST one to the other's type

SELECT o.id FROM orders o JOIN pairs p USING (id) EMIT CHANGES;
-- → line 1:40: unexpected USING; expected WITHIN or ON
-- →   hint: the columns of a join are written out: ON a.id = b.id

SELECT o.id FROM orders o NATURAL JOIN pairs p EMIT CHANGES;
-- → line 1:27: unexpected NATURAL; expected the end of the statement
-- →   hint: the columns of a join are written out: ON a.id = b.id

SELECT o.id FROM orders o LEFT SEMI JOIN people p ON o.item = p.name EMIT CHANGES;
-- → line 1:32: unexpected SEMI; expected OUTER or JOIN
-- →   hint: it is a JOIN on the key of a table, or a LEFT JOIN with WHERE t.id IS NULL for the rows without one

SELECT o.id FROM orders o LEFT JOIN people FOR SYSTEM_TIME AS OF o.placed AS p ON o.item = p.name EMIT CHANGES;
-- → line 1:48: unexpected SYSTEM_TIME; expected WITHIN or ON
-- →   hint: a stream joined with a table gets the table's row of that moment: FROM a JOIN t ON a.id = t.id

SELECT o.id FROM orders o JOIN people p ON o.item = p.name AND o.amount > p.age EMIT CHANGES;
-- → line 1:44: Invalid join condition: joins on multiple conditions are not yet supported. Got O.ITEM = P.NAME AND O.AMOUNT > P.AGE.
-- →   hint: ON a.id = b.id AND a.day = b.day; other conditions are put into WHERE

SELECT item, COUNT(*) FROM orders EMIT CHANGES;
-- → line 1:8: Non-aggregate SELECT expression(s) not part of GROUP BY: ITEM
-- →   hint: a number in GROUP BY is not a position: add it to the GROUP BY, or remove it

SELECT item, COUNT(*) FROM orders GROUP BY item HAVING COUNT(*) > 1 WINDOW TUMBLING (SIZE 1 HOUR) EMIT CHANGES;
-- → line 1:69: unexpected WINDOW; expected UNION, ORDER BY, EMIT CHANGES, EMIT FINAL, LIMIT, OFFSET or the end of the statement
-- →   hint: WINDOW TUMBLING (SIZE 10 MINUTES) follows FROM and its joins, before WHERE

SELECT item, COUNT(*) FROM orders GROUP BY item WINDOW TUMBLING (SIZE 1 HOUR) EMIT CHANGES;
-- → line 1:49: unexpected WINDOW; expected AS, ',', PARTITION BY, HAVING, UNION, ORDER BY, EMIT CHANGES, EMIT FINAL, LIMIT, OFFSET or the end of the statement
-- →   hint: WINDOW TUMBLING (SIZE 10 MINUTES) follows FROM and its joins, before WHERE

SELECT item, COUNT(*) FROM orders WINDOW TUMBLING (1 HOUR) GROUP BY item EMIT CHANGES;
-- → line 1:52: unexpected 1; expected SIZE
-- →   hint: WINDOW TUMBLING (SIZE 1 HOUR)

SELECT item, COUNT(*) FROM orders WINDOW TUMBLING (SIZE '1 hour') GROUP BY item EMIT CHANGES;
-- → line 1:57: unexpected '1 hour'; expected a duration such as 10 SECONDS
-- →   hint: WINDOW TUMBLING (SIZE 1 HOUR)

SELECT item, COUNT(*) FROM orders WINDOW HOPPING (SIZE 1 HOUR) GROUP BY item EMIT CHANGES;
-- → line 1:62: unexpected ')'; expected ', ADVANCE BY' and a duration

SELECT item, COUNT(*) FROM orders WINDOW TUMBLING (SIZE 1 HOUR ADVANCE BY 1 MINUTE) GROUP BY item EMIT CHANGES;
-- → line 1:64: unexpected ADVANCE; expected ',' OFFSET, ',' RETENTION, ',' GRACE PERIOD or ')'
-- →   hint: a window that advances is WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 10 MINUTES)

SELECT item, COUNT(*) FROM orders GROUP BY 1 EMIT CHANGES;
-- → line 1:8: Non-aggregate SELECT expression(s) not part of GROUP BY: ITEM
-- →   hint: a number in GROUP BY is not a position: add it to the GROUP BY, or remove it

SELECT item, COUNT(*) FROM orders GROUP BY ALL EMIT CHANGES;
-- → line 1:44: unexpected ALL; expected an expression
-- →   hint: the columns of a group are named: GROUP BY a, b

SELECT DISTINCT ON (item) item, amount FROM orders EMIT CHANGES;
-- → line 1:17: unexpected ON; expected '*' or an expression
-- →   hint: the latest of each group: SELECT k, LATEST_BY_OFFSET(v) FROM a GROUP BY k

SELECT item AS 'x' FROM orders EMIT CHANGES;
-- → line 1:16: unexpected 'x'; expected a column name
-- →   hint: a name is written without quotes, or in backticks

SELECT * EXCEPT (item) FROM orders EMIT CHANGES;
-- → line 1:10: unexpected EXCEPT; expected ',' or FROM
-- →   hint: the columns are named: SELECT a, b FROM …

SELECT orders.place.city FROM orders EMIT CHANGES;
-- → line 1:20: unexpected '.'; expected AS, ',' or FROM
-- →   hint: a field of a STRUCT is written column->field; there is no schema before a source

SELECT place.city FROM orders EMIT CHANGES;
-- → line 1:8: SELECT column 'PLACE.CITY' cannot be resolved.
-- →   hint: a field of the STRUCT PLACE is written PLACE->CITY

SELECT tags[1:2] FROM orders EMIT CHANGES;
-- → line 1:14: the character ':' means nothing here
-- →   hint: a type is changed by CAST(a AS INTEGER); fields of STRUCT and MAP are written name := value

SELECT item FROM orders EMIT CHANGE;
-- → line 1:30: unexpected CHANGE; expected the end of the statement
-- →   hint: did you mean CHANGES?

SELECT item FROM orders EMIT CHANGES WHERE amount > 3;
-- → line 1:38: unexpected WHERE; expected LIMIT, OFFSET or the end of the statement
-- →   hint: the clauses have this order: FROM, WINDOW, WHERE, GROUP BY, PARTITION BY, HAVING, ORDER BY, EMIT, LIMIT, OFFSET

SELECT item FROM orders EMIT CHANGES LIMIT 'a';
-- → line 1:44: unexpected 'a'; expected a whole number of rows

ALTER TABLE people RENAME TO persons;
-- → line 1:20: unexpected RENAME; expected CUT OVER or ADD
-- →   hint: a name stays: DROP the stream or table, which keeps its topic, and CREATE another one over the topic

ALTER STREAM orders DROP COLUMN item;
-- → line 1:21: unexpected DROP; expected CUT OVER or ADD
-- →   hint: columns can be added only: ADD name type; for others CREATE OR REPLACE, or DROP and CREATE it again

SHOW CREATE TABLE people;
-- → line 1:6: unexpected CREATE; expected what to list, such as STREAMS or TOPICS
-- →   hint: DESCRIBE name EXTENDED shows the statement

SHOW DATABASES;
-- → line 1:6: unexpected DATABASES; expected what to list, such as STREAMS or TOPICS
-- →   hint: there are no databases or schemas: a name is that of one stream or table

SHOW COLUMNS FROM orders;
-- → line 1:6: unexpected COLUMNS; expected what to list, such as STREAMS or TOPICS
-- →   hint: DESCRIBE name lists the columns

DESC orders;
-- → line 1:1: unexpected DESC; expected a statement
-- →   hint: did you mean DESCRIBE?

DROP TABLE orders;
-- → line 1:1: Incompatible data source type is stream, but statement was DROP table
-- →   hint: ORDERS is a stream

DROP STREAM IF EXISTS a, b;
-- → line 1:24: unexpected ','; expected DELETE TOPIC or the end of the statement
-- →   hint: each is dropped by a separate statement

ANALYZE TABLE people;
-- → line 1:1: unexpected ANALYZE; expected a statement
-- →   hint: EXPLAIN shows a query's plan, DESCRIBE name EXTENDED its figures

SET auto.offset.reset = earliest;
-- → line 1:5: unexpected auto; expected the setting's name as a string
-- →   hint: a setting's name is a string: SET 'auto.offset.reset' = 'earliest'

SET auto.offset.reset = 'earliest';
-- → line 1:5: unexpected auto; expected the setting's name as a string
-- →   hint: a setting's name is a string: SET 'auto.offset.reset' = 'earliest'

BEGIN;
-- → line 1:1: unexpected BEGIN; expected a statement
-- →   hint: there are no transactions

COMMIT;
-- → line 1:1: unexpected COMMIT; expected a statement
-- →   hint: there are no transactions

GRANT SELECT ON people TO bob;
-- → line 1:1: unexpected GRANT; expected a statement
-- →   hint: who may do what is in the server's file of users: `millstream users`

EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT * FROM b; END;
-- → line 1:1: unexpected EXECUTE; expected a statement
-- →   hint: write the statements one after the other, each ends with ';'

SELECT IF(amount > 3, 'a', 'b') FROM orders EMIT CHANGES;
-- → line 1:8: there is no function named 'IF'
-- →   hint: write CASE WHEN a > 1 THEN b ELSE c END

SELECT IIF(amount > 3, 'a', 'b') FROM orders EMIT CHANGES;
-- → line 1:8: there is no function named 'IIF'
-- →   hint: write CASE WHEN a > 1 THEN b ELSE c END

SELECT NVL(item, 'a'), DATE_TRUNC('hour', placed) FROM orders EMIT CHANGES;
-- → line 1:8: there is no function named 'NVL'
-- →   hint: write COALESCE(a, b)

SELECT TO_TIMESTAMP('2020-01-01') FROM orders EMIT CHANGES;
-- → line 1:8: there is no function named 'TO_TIMESTAMP'
-- →   hint: write PARSE_TIMESTAMP(text, 'yyyy-MM-dd HH:mm:ss')

SELECT EXTRACT(YEAR FROM placed) FROM orders EMIT CHANGES;
-- → line 1:21: unexpected FROM; expected ',' or ')'
-- →   hint: a part of a time is CAST(FORMAT_TIMESTAMP(t, 'yyyy') AS INT)

SELECT TIMESTAMPDIFF(MINUTE, placed, placed) FROM orders EMIT CHANGES;
-- → line 1:8: there is no function named 'TIMESTAMPDIFF'
-- →   hint: write (UNIX_TIMESTAMP(b) - UNIX_TIMESTAMP(a)) / 60000 for minutes, UNIX_DATE(b) - UNIX_DATE(a) for days

SELECT POSITION('a' IN item) FROM orders EMIT CHANGES;
-- → line 1:24: unexpected item; expected '('
-- →   hint: INSTR(text, 'part')

SELECT SUBSTRING(item FROM 2 FOR 3) FROM orders EMIT CHANGES;
-- → line 1:23: unexpected FROM; expected ',' or ')'
-- →   hint: SUBSTRING(text, 2, 3)

SELECT CAST(item AS CHAR) FROM orders EMIT CHANGES;
-- → line 1:8: there is no type CHAR
-- →   hint: write STRING

SELECT CAST(item AS SIGNED) FROM orders EMIT CHANGES;
-- → line 1:8: there is no type SIGNED
-- →   hint: write INTEGER

SELECT TRY_CAST(item AS INT) FROM orders EMIT CHANGES;
-- → line 1:22: unexpected AS; expected ',' or ')'
-- →   hint: CAST is NULL where it cannot convert, and logs it

SELECT DATE '2020-01-01', TIMESTAMP '2020-01-01 00:00:00' FROM orders EMIT CHANGES;
-- → line 1:8: constants written DATE '…' are not supported
-- →   hint: CAST('…' AS DATE)

SELECT GROUP_CONCAT(item) FROM orders GROUP BY id EMIT CHANGES;
-- → line 1:8: there is no function named 'GROUP_CONCAT'
-- →   hint: write ARRAY_JOIN(COLLECT_LIST(v), ',')

SELECT id, COUNT_IF(amount > 3) FROM orders GROUP BY id EMIT CHANGES;
-- → line 1:12: there is no function named 'COUNT_IF'
-- →   hint: write SUM(CASE WHEN a > 1 THEN 1 ELSE 0 END)

SELECT * FROM orders TABLESAMPLE (10 PERCENT);
-- → line 1:34: unexpected '('; expected the end of the statement
-- →   hint: a part of the rows is WHERE RANDOM() < 0.1

SELECT * FROM orders VERSION AS OF 3;
-- → line 1:30: unexpected AS; expected the end of the statement
-- →   hint: a pull query sees the rows of now

SELECT * FROM orders MATCH_RECOGNIZE (PARTITION BY item) EMIT CHANGES;
-- → line 1:38: unexpected '('; expected the end of the statement
-- →   hint: patterns of rows are not searched for: join a stream with itself, WITHIN a time

CREATE STREAM s WITH ('kafka_topic'='orders', 'value_format'='JSON') (id INT);
-- → line 1:70: unexpected '('; expected AS or the end of the statement
-- →   hint: the columns come before WITH: CREATE STREAM a (id INT KEY, v INT) WITH (…)

CREATE STREAM s (id INT KEY) WITH kafka_topic='orders';
-- → line 1:35: unexpected kafka_topic; expected '('

CREATE STREAM s AS SELECT * FROM orders WITH (kafka_topic='x');
-- → line 1:41: unexpected WITH; expected the end of the statement
-- →   hint: WITH (…) follows the name, before AS

CREATE STREAM s SELECT * FROM orders;
-- → line 1:17: unexpected SELECT; expected WITH, AS or the end of the statement
-- →   hint: AS comes before SELECT

CREATE STREAM s AS SELECT item FROM orders;
-- → line 1:20: The query used to build S must include the key column ID in its projection.
-- →   hint: SELECT ID, …

CREATE TABLE s AS SELECT item FROM orders;
-- → line 1:19: The query used to build S must include the key column ID in its projection.
-- →   hint: SELECT ID, …

CREATE STREAM s AS SELECT item, COUNT(*) FROM orders GROUP BY item;
-- → line 1:1: Invalid result type. Your SELECT query produces a TABLE. Please use CREATE TABLE AS SELECT statement instead.
-- →   hint: a table's changes are a stream: CREATE STREAM name (columns) WITH (KAFKA_TOPIC='the table's topic', …)

CREATE STREAM s (id INT KEY, v INT,) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:36: unexpected ')'; expected a column name
-- →   hint: no comma comes after the last one of a list

CREATE STREAM my-stream (id INT KEY) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:17: unexpected '-'; expected WITH, AS or the end of the statement
-- →   hint: a name with other characters than letters, digits and _ is quoted: `my-stream`

SELECT item FROM shop.orders EMIT CHANGES;
-- → line 1:22: unexpected '.'; expected the end of the statement
-- →   hint: there are no databases or schemas: a name is that of one stream or table

SELECT item, FROM orders EMIT CHANGES;
-- → line 1:14: unexpected FROM; expected '*' or an expression
-- →   hint: no comma comes after the last one of a list

FROM orders SELECT item;
-- → line 1:1: unexpected FROM; expected a statement
-- →   hint: SELECT comes first: SELECT … FROM a

SELECT 1;
-- → line 1:9: unexpected ';'; expected AS, ',' or FROM
-- →   hint: a query reads a stream or table: SELECT … FROM a

SELECT o.place.city FROM orders o EMIT CHANGES;
-- → line 1:15: unexpected '.'; expected AS, ',' or FROM
-- →   hint: a field of a STRUCT is written column->field; there is no schema before a source

SELECT item FROM orders WHERE placed > CURRENT_TIMESTAMP EMIT CHANGES;
-- → line 1:40: WHERE column 'CURRENT_TIMESTAMP' cannot be resolved.
-- →   hint: the time now is UNIX_TIMESTAMP() in milliseconds, FROM_UNIXTIME(UNIX_TIMESTAMP()) as a TIMESTAMP

SELECT id, TIMESTAMPDIFF(MINUTE, placed, placed) FROM orders EMIT CHANGES;
-- → line 1:12: there is no function named 'TIMESTAMPDIFF'
-- →   hint: write (UNIX_TIMESTAMP(b) - UNIX_TIMESTAMP(a)) / 60000 for minutes, UNIX_DATE(b) - UNIX_DATE(a) for days

SELECT id, GROUP_CONCAT(item) FROM orders GROUP BY id EMIT CHANGES;
-- → line 1:12: there is no function named 'GROUP_CONCAT'
-- →   hint: write ARRAY_JOIN(COLLECT_LIST(v), ',')

SELECT UPPER(item), LENGTH(item), IF(amount > 3, 'a', 'b') FROM orders EMIT CHANGES;
-- → line 1:8: there is no function named 'UPPER'
-- →   hint: write UCASE(text)

SELECT LENGTH(item) FROM orders EMIT CHANGES;
-- → line 1:8: there is no function named 'LENGTH'
-- →   hint: write LEN(text)

SELECT LOWER(item) FROM orders WHERE LOWER(item) = 'a' EMIT CHANGES;
-- → line 1:38: Error in WHERE expression: there is no function named 'LOWER'
-- →   hint: write LCASE(text)

SELECT item, COUNT(*) FROM orders GROUP BY item, TUMBLE(placed, 3) EMIT CHANGES;
-- → line 1:50: there is no function named 'TUMBLE'
-- →   hint: a window is a clause: FROM a WINDOW TUMBLING (SIZE 10 MINUTES) GROUP BY …, with WINDOWSTART and WINDOWEND

CREATE STREAM t (id SERIAL KEY, v JSONB) WITH (kafka_topic='orders', value_format='JSON');
-- → line 1:18: there is no type SERIAL
-- →   hint: write INTEGER

CREATE TABLE t (id STRING PRIMARY KEY) WITH ('connector'='kafka', 'topic'='orders', 'format'='json', 'properties.bootstrap.servers'='x');
-- → line 1:46: Invalid config variable(s) in the WITH clause: CONNECTOR
-- →   hint: each stream or table reads a Kafka topic: KAFKA_TOPIC='…', VALUE_FORMAT='JSON'

CREATE STREAM t (id STRING KEY) WITH (topic='orders', format='json');
-- → line 1:39: unexpected topic; expected the name of a property
-- →   hint: did you mean KAFKA_TOPIC?

CREATE STREAM t (id STRING KEY) WITH (kafka_topic=orders, value_format=json);
-- → line 1:51: unexpected orders; expected NULL, TRUE, FALSE, a number or a string
-- →   hint: text is put in single quotes

CREATE STREAM t (id STRING KEY, v INT) WITH (kafka_topic='orders', value_format='json', 'scan.startup.mode'='earliest-offset');
-- → line 1:89: Invalid config variable(s) in the WITH clause: SCAN.STARTUP.MODE
-- →   hint: where reading begins is a setting of the query: SET 'auto.offset.reset' = 'earliest'

CREATE STREAM t (id STRING KEY, ts STRING) WITH (kafka_topic='orders', value_format='json', timestamp='tss');
-- → line 1:93: The TIMESTAMP column set in the WITH clause does not exist in the schema: 'TSS'
-- →   hint: did you mean TS?

CREATE STREAM orders (id STRING KEY, v INT) WITH (kafka_topic='orders', value_format='json');
-- → line 1:1: Cannot add stream 'ORDERS': A stream with the same name already exists
-- →   hint: use CREATE OR REPLACE, or DROP it first

CREATE STREAM s AS SELECT * FROM orderz EMIT CHANGES;
-- → line 1:34: ORDERZ does not exist: no stream or table has that name
-- →   hint: did you mean ORDERS?

SELECT * FROM orders o JOIN pairs p ON o.id = p.b EMIT CHANGES;
-- → line 1:40: Invalid join condition: types don't match. Got O.ID{BIGINT} = P.B{INTEGER}.
-- →   hint: CAST one to the other's type

SELECT o.id, p.a FROM orders o JOIN wide p ON o.id = p.id EMIT CHANGES;
-- → line 1:32: Stream-Stream joins must have a WITHIN clause specified. None was provided.
-- →   hint: … JOIN s WITHIN 1 HOUR ON …

SELECT item, SUM(tags) FROM orders GROUP BY item EMIT CHANGES;
-- → line 1:14: Function 'SUM' does not accept parameters (ARRAY<STRING>).
-- →   hint: valid calls are SUM(value INTEGER); SUM(value BIGINT); SUM(value DOUBLE); SUM(value DECIMAL)

SELECT id + item FROM orders EMIT CHANGES;
-- → line 1:8: Error processing expression: (ID + ITEM). Unsupported arithmetic types. BIGINT STRING
-- →   hint: CAST the other to STRING, or use CONCAT

SELECT item FROM orders WHERE amount = '3' EMIT CHANGES;
-- → line 1:31: Error in WHERE expression: Cannot compare AMOUNT (INTEGER) to '3' (STRING) with EQUAL.
-- →   hint: CAST one to the other's type

SELECT item FROM orders WHERE amount EMIT CHANGES;
-- → line 1:31: Type error in WHERE expression: Should evaluate to boolean but is AMOUNT (INTEGER) instead.

SELECT item FROM orders WHERE COUNT(*) > 3 EMIT CHANGES;
-- → line 1:31: aggregate function COUNT without a GROUP BY clause
-- →   hint: group by an expression; a constant puts all rows in one group

SELECT COUNT(*) AS n FROM orders GROUP BY item HAVING n > 3 EMIT CHANGES;
-- → line 1:55: HAVING column 'N' cannot be resolved.
-- →   hint: an alias of SELECT cannot be referred to: write what N stands for

SELECT * FROM people p JOIN orders o ON p.name = o.item EMIT CHANGES;
-- → line 1:24: Invalid join order: table-stream joins are not supported; only stream-table joins. Got P [INNER] JOIN O.
-- →   hint: put the stream on the left

SELECT item, WINDOWSTART FROM orders EMIT CHANGES;
-- → line 1:14: SELECT column 'WINDOWSTART' cannot be resolved.
-- →   hint: a window's bounds are columns of a windowed source, and of the SELECT of a windowed aggregate without a join

SELECT item, COUNT(*) FROM orders WINDOW TUMBLING (SIZE 1 HOUR) EMIT CHANGES;
-- → line 1:8: Non-aggregate SELECT expression(s) not part of GROUP BY: ITEM
-- →   hint: a number in GROUP BY is not a position: add it to the GROUP BY, or remove it

SELECT * FROM people WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY name EMIT CHANGES;
-- → line 1:1: GROUP BY requires aggregate functions in either the SELECT or HAVING clause.
-- →   hint: e.g. COUNT(*)

CREATE TABLE t AS SELECT name, COUNT(*) FROM people WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY name EMIT CHANGES;
-- → line 1:60: WINDOW clause is not supported on tables: only on streams

INSERT INTO orders VALUES (1, 'a');
-- → line 1:1: Failed to insert values into 'ORDERS'. Expected a value for each column. Expected Columns: []. Got [1, 'a']
-- →   hint: the columns are ID, ITEM, AMOUNT, PRICE, TAGS, PLACE, PLACED

INSERT INTO orders (id, price) VALUES (1, 12345.678);
-- → line 1:43: Failed to insert values into 'ORDERS'. Expected type DECIMAL(6, 2) for field `PRICE` but got DECIMAL(12345.678)
-- →   hint: CAST it

INSERT INTO orders (id, placed) VALUES (1, 'yesterday');
-- → line 1:44: Failed to insert values into 'ORDERS'. Expected type TIMESTAMP for field `PLACED` but got STRING(yesterday). Timestamp format must be yyyy-mm-ddThh:mm:ss[.S]
-- →   hint: a timestamp reads 2024-02-29T23:59:59.999, and may end in a zone such as +0200

INSERT INTO orders (id, place) VALUES (1, {city: 'a'});
-- → line 1:43: the character '{' means nothing here
-- →   hint: a STRUCT is written STRUCT(name := value), a MAP MAP('key' := value)

INSERT INTO orders (id, tags) VALUES (1, ['a']);
-- → line 1:42: unexpected '['; expected an expression
-- →   hint: an array is written ARRAY['a', 'b']

INSERT INTO orders (id, item) VALUES (1, "a");
-- → line 1:42: Failed to insert values into 'ORDERS'. Unsupported column reference in insert value: `a`
-- →   hint: text is put in single quotes

TERMINATE CSAS_X_1;
-- → line 1:1: Unknown queryId: CSAS_X_1
-- →   hint: SHOW QUERIES lists the ids

DROP STREAM orders CASCADE;
-- → line 1:20: unexpected CASCADE; expected DELETE TOPIC or the end of the statement
-- →   hint: what reads it is dropped before it, by a separate statement

DROP orders;
-- → line 1:6: unexpected orders; expected TYPE, INDEX, VIEW, FUNCTION, CONNECTOR, STREAM or TABLE
-- →   hint: say what it is: DROP STREAM orders, or DROP TABLE

DROP TOPIC orders;
-- → line 1:6: unexpected TOPIC; expected TYPE, INDEX, VIEW, FUNCTION, CONNECTOR, STREAM or TABLE
-- →   hint: a topic is created WITH (KAFKA_TOPIC='…', PARTITIONS=…), and deleted by DROP STREAM|TABLE … DELETE TOPIC

SHOW TABLE;
-- → line 1:6: unexpected TABLE; expected what to list, such as STREAMS or TOPICS
-- →   hint: did you mean TABLES?

DESCRIBE TABLE people;
-- → line 1:10: unexpected TABLE
-- →   hint: the name alone: DESCRIBE people

EXPLAIN SELECT;
-- → line 1:15: unexpected ';'; expected DISTINCT, '*' or an expression

PRINT;
-- → line 1:6: unexpected ';'; expected a topic

SELECT * FROM orders EMIT FINAL;
-- → line 1:1: EMIT FINAL is only supported for windowed aggregations.
-- →   hint: use EMIT CHANGES, or group by WINDOW TUMBLING (SIZE 1 HOUR)

SELECT item, COUNT(*) FROM orders GROUP BY item EMIT FINAL;
-- → line 1:1: EMIT FINAL is only supported for windowed aggregations.
-- →   hint: use EMIT CHANGES, or group by WINDOW TUMBLING (SIZE 1 HOUR)

SELECT * FROM orders EMIT CHANGES EMIT CHANGES;
-- → line 1:35: unexpected EMIT; expected LIMIT, OFFSET or the end of the statement
-- →   hint: EMIT CHANGES follows HAVING, before LIMIT

SELECT * FROM orders WHERE item IN ('a') AND amount IN 3 EMIT CHANGES;
-- → line 1:56: unexpected 3; expected '('
-- →   hint: the values are put in parentheses: IN (1, 2)

SELECT * FROM orders WHERE item NOT NULL EMIT CHANGES;
-- → line 1:33: unexpected NOT; expected GROUP BY, PARTITION BY, HAVING, UNION, ORDER BY, EMIT CHANGES, EMIT FINAL, LIMIT, OFFSET or the end of the statement
-- →   hint: did you mean IS NOT NULL?

SELECT * FROM orders WHERE item = NULL EMIT CHANGES;
-- → line 1:28: Error in WHERE expression: Comparison with NULL not supported: STRING = NULL
-- →   hint: Use 'IS NULL' or 'IS NOT NULL' instead.

SELECT amount AS total, total * 2 FROM orders EMIT CHANGES;
-- → line 1:25: SELECT column 'TOTAL' cannot be resolved.
-- →   hint: an alias of SELECT cannot be referred to: write what TOTAL stands for

SELECT $1 FROM orders;
-- → line 1:8: the character '$' means nothing here
-- →   hint: a value is written out, or is a variable, ${name}

SELECT :id FROM orders;
-- → line 1:8: the character ':' means nothing here
-- →   hint: a type is changed by CAST(a AS INTEGER); fields of STRUCT and MAP are written name := value

SELECT * FROM orders WHERE id = ?;
-- → line 1:33: the character '?' means nothing here
-- →   hint: a value is written out, or is a variable, ${name}

SELECT EXPLODE(tags), EXPLODE(place) FROM orders EMIT CHANGES;
-- → line 1:23: Function 'EXPLODE' does not accept parameters (STRUCT<CITY STRING, ZIP INTEGER>).
-- →   hint: valid calls are EXPLODE(array ARRAY<T>)

CREATE STREAM s AS SELECT * FROM orders PARTITION BY item, amount EMIT CHANGES;
-- → line 1:1: Key format does not support schema: The 'KAFKA' format only supports a single field. Got: [ITEM STRING, AMOUNT INTEGER]
-- →   hint: KEY_FORMAT may be AVRO, DELIMITED, JSON, JSON_SR, PROTOBUF, PROTOBUF_NOSR

CREATE TYPE addr STRUCT<a INT>;
-- → line 1:18: unexpected STRUCT; expected AS

CREATE TABLE t WITH (retention='7 days') AS SELECT item, COUNT(*) FROM orders GROUP BY item;
-- → line 1:22: unexpected retention; expected the name of a property
-- →   hint: did you mean RETENTION_MS?

CREATE TABLE latest AS SELECT id, LAST(item) FROM orders GROUP BY id;
-- → line 1:35: there is no function named 'LAST'
-- →   hint: write LATEST_BY_OFFSET(v)

SELECT id FROM orders o LEFT JOIN people p ON p.name = o.item WHERE p.name IS NULL EMIT CHANGES
-- → line 1:96: the statement does not end
-- →   hint: a statement ends with ';'

SELECT TRIM(BOTH ' ' FROM item) FROM orders;
-- → line 1:22: unexpected FROM; expected ',' or ')'
-- →   hint: TRIM(text) takes blanks away, REGEXP_REPLACE(text, '^x+|x+$', '') others

SELECT item COLLATE "C" FROM orders;
-- → line 1:21: unexpected "C"; expected ',' or FROM
-- →   hint: text is compared character by character

SELECT ARRAY(1,2), MAP{'a':1} FROM orders;
-- → line 1:23: the character '{' means nothing here
-- →   hint: a STRUCT is written STRUCT(name := value), a MAP MAP('key' := value)

SELECT {'a':1} FROM orders;
-- → line 1:8: the character '{' means nothing here
-- →   hint: a STRUCT is written STRUCT(name := value), a MAP MAP('key' := value)

SELECT ROW(1,2) FROM orders EMIT CHANGES;
-- → line 1:8: there is no function named 'ROW'
-- →   hint: write STRUCT(name := a, age := b)

WITH x AS SELECT 1 SELECT * FROM x;
-- → line 1:11: unexpected SELECT; expected '('

PRINT orders INTERVAL '1' HOUR;
-- → line 1:23: unexpected '1'; expected a whole number of records
-- →   hint: it is a whole number: PRINT 'topic' INTERVAL 2 shows every second record

CREATE VIEW shop.v AS SELECT * FROM orders;
-- → line 1:17: unexpected '.'; expected AS

INSERT INTO shop.orders VALUES (1);
-- → line 1:17: unexpected '.'; expected VALUES, WITH or SELECT
-- →   hint: there are no databases or schemas: a name is that of one stream or table
