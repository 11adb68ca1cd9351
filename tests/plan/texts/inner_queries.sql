CREATE STREAM s AS SELECT id, total FROM (SELECT id, amount * 2 AS total FROM orders WHERE amount > 1) WHERE total > 5;
-- → Created query with ID CSAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CSAS_S_0
-- → S (ID BIGINT KEY, TOTAL INTEGER)
-- → Write STREAM S to topic S (key KAFKA, value JSON)
-- →   Select ID KEY, TOTAL
-- →     Filter TOTAL > 5
-- →       Select ID KEY, AMOUNT * 2 AS TOTAL
-- →         Filter AMOUNT > 1
-- →           Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM s AS WITH large AS (SELECT id, item FROM orders WHERE amount > 5) SELECT l.id AS id, l.item AS item FROM large l PARTITION BY l.item;
-- → Created query with ID CSAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CSAS_S_0
-- → S (ITEM STRING KEY, ID BIGINT)
-- → Write STREAM S to topic S (key KAFKA, value JSON)
-- →   Select ITEM KEY, ID
-- →     Partition by L.ITEM
-- →       Select ID KEY, ITEM
-- →         Filter AMOUNT > 5
-- →           Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE TABLE s AS SELECT tag, COUNT(*) AS n FROM (SELECT EXPLODE(tags) AS tag FROM orders) GROUP BY tag;
-- → Created query with ID CTAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CTAS_S_0
-- → S (TAG STRING KEY, N BIGINT)
-- → Write TABLE S to topic S (key KAFKA, value JSON)
-- →   Select TAG KEY, COUNT(*) AS N
-- →     Group by TAG: COUNT(*)
-- →       Select EXPLODE(TAGS) AS TAG
-- →         Flatten EXPLODE(TAGS)
-- →           Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM s AS SELECT id, amount FROM orders UNION ALL SELECT id, amount FROM wide UNION ALL SELECT id, amount FROM narrow;
-- → Created query with ID CSAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CSAS_S_0
-- → S (ID BIGINT KEY, AMOUNT DECIMAL(12, 2))
-- → Write STREAM S to topic S (key KAFKA, value JSON)
-- →   Select ID KEY, AMOUNT
-- →     Union of 3 streams
-- →       Select ID KEY, AMOUNT
-- →         Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- →       Select ID KEY, AMOUNT
-- →         Read STREAM WIDE from topic wide (key KAFKA, value JSON)
-- →       Select ID KEY, AMOUNT
-- →         Read STREAM NARROW from topic n (key KAFKA, value JSON)

CREATE STREAM s AS SELECT * FROM (SELECT id, item FROM orders UNION ALL SELECT k, v FROM given) PARTITION BY item;
-- → line 1:73: column K of a UNION's branch is STRING, and BIGINT in those before it
-- →   hint: CAST one to the other's type

CREATE STREAM s AS SELECT id, amount FROM orders UNION ALL (SELECT id, price FROM wide WHERE price > 1);
-- → Created query with ID CSAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CSAS_S_0
-- → S (ID BIGINT KEY, AMOUNT DECIMAL(13, 3))
-- → Write STREAM S to topic S (key KAFKA, value JSON)
-- →   Select ID KEY, AMOUNT
-- →     Union of 2 streams
-- →       Select ID KEY, AMOUNT
-- →         Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- →       Select ID KEY, PRICE AS AMOUNT
-- →         Select ID KEY, PRICE
-- →           Filter PRICE > 1
-- →             Read STREAM WIDE from topic wide (key KAFKA, value JSON)

CREATE STREAM s AS SELECT k, v FROM given UNION ALL SELECT k, v FROM late_key;
-- → Created query with ID CSAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CSAS_S_0
-- → S (K STRING KEY, V INTEGER)
-- → Write STREAM S to topic S (key KAFKA, value JSON)
-- →   Select K KEY, V
-- →     Union of 2 streams
-- →       Select K KEY, V
-- →         Read STREAM GIVEN from topic orders (key KAFKA, value JSON)
-- →       Select K KEY, V
-- →         Read STREAM LATE_KEY from topic late (key KAFKA, value JSON)

CREATE STREAM s AS SELECT item, age, o.id AS id FROM (SELECT id, item FROM orders WHERE amount > 1) o JOIN people p ON o.item = p.name;
-- → Created query with ID CSAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CSAS_S_0
-- → S (ITEM STRING KEY, AGE INTEGER, ID BIGINT)
-- → Write STREAM S to topic S (key KAFKA, value JSON)
-- →   Select ITEM KEY, AGE, ID
-- →     Join (INNER) on O.ITEM = P.NAME; repartition of the left side by the join key
-- →       Select ID KEY, ID, ITEM
-- →         Select ID KEY, ITEM
-- →           Filter AMOUNT > 1
-- →             Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- →       Select NAME KEY, NAME, AGE
-- →         Read TABLE PEOPLE from topic people (key KAFKA, value DELIMITED)

CREATE STREAM s AS SELECT u.id AS id, u.amount AS a, n.amount AS b FROM (SELECT id, amount FROM orders UNION ALL SELECT id, amount FROM wide) u JOIN narrow n WITHIN 1 HOUR GRACE PERIOD 1 HOUR ON u.id = n.id;
-- → Created query with ID CSAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CSAS_S_0
-- → S (ID BIGINT KEY, A DECIMAL(12, 2), B DECIMAL(4, 2))
-- → Write STREAM S to topic S (key KAFKA, value JSON)
-- →   Select ID KEY, U.AMOUNT AS A, N.AMOUNT AS B
-- →     Join (INNER) on U.ID = N.ID within 3600000 ms before, 3600000 ms after, grace 3600000 ms; repartition of the left side by the join key
-- →       Select ID KEY, ID, AMOUNT
-- →         Union of 2 streams
-- →           Select ID KEY, AMOUNT
-- →             Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- →           Select ID KEY, AMOUNT
-- →             Read STREAM WIDE from topic wide (key KAFKA, value JSON)
-- →       Select ID KEY, ID, AMOUNT
-- →         Read STREAM NARROW from topic n (key KAFKA, value JSON)

CREATE STREAM s AS SELECT id, age FROM (SELECT o.id AS id, o.item AS item, age FROM orders o JOIN people p ON o.item = p.name) PARTITION BY id;
-- → Created query with ID CSAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CSAS_S_0
-- → S (ID BIGINT KEY, AGE INTEGER)
-- → Write STREAM S to topic S (key KAFKA, value JSON)
-- →   Select ID KEY, AGE
-- →     Partition by ID
-- →       Select ITEM KEY, ID, AGE
-- →         Join (INNER) on O.ITEM = P.NAME; repartition of the left side by the join key
-- →           Select ID KEY, ID, ITEM
-- →             Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- →           Select NAME KEY, NAME, AGE
-- →             Read TABLE PEOPLE from topic people (key KAFKA, value DELIMITED)

CREATE STREAM s AS SELECT * FROM (SELECT a, b, v FROM pairs);
-- → Created query with ID CSAS_S_0
-- → create topic S with 1 partition(s)
-- → start query CSAS_S_0
-- → S (A INTEGER KEY, B INTEGER KEY, V STRING)
-- → Write STREAM S to topic S (key JSON, value JSON)
-- →   Select A KEY, B KEY, V
-- →     Select A KEY, B KEY, V
-- →       Read STREAM PAIRS from topic pairs (key JSON, value JSON)

CREATE STREAM s (id BIGINT KEY, item STRING) WITH (kafka_topic='s', value_format='JSON', partitions=1); INSERT INTO s SELECT id, item FROM (SELECT id, UCASE(item) AS item FROM orders);
-- → Stream created
-- → create topic s with 1 partition(s)
-- → S (ID BIGINT KEY, ITEM STRING)
-- → Created query with ID INSERTQUERY_0
-- → start query INSERTQUERY_0
-- → Write STREAM S to topic s (key KAFKA, value JSON)
-- →   Select ID KEY, ITEM
-- →     Select ID KEY, UCASE(ITEM) AS ITEM
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

SELECT id, total FROM (SELECT id, amount * 2 AS total FROM orders) WHERE total > 5 EMIT CHANGES;
-- → Answer ID, TOTAL
-- →   Filter TOTAL > 5
-- →     Select ID KEY, AMOUNT * 2 AS TOTAL
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

SELECT ROWKEY, id FROM (SELECT ROWKEY, ROWVALUE->item FROM orders) EMIT CHANGES;
-- → line 1:8: SELECT column 'ROWKEY' cannot be resolved.
-- →   hint: ROWKEY is of a stream or table: the columns of an inner query have their names alone

CREATE STREAM s AS SELECT v FROM (SELECT a, v FROM pairs);
-- → line 1:34: The query used to build S must include the key columns A and B in its projection.
-- →   hint: inner queries must select the key too, in all branches of a UNION ALL at the same place; or PARTITION BY

CREATE STREAM s AS SELECT * FROM (SELECT v FROM pairs);
-- → line 1:34: The query used to build S must include the key columns A and B in its projection.
-- →   hint: inner queries must select the key too, in all branches of a UNION ALL at the same place; or PARTITION BY

CREATE STREAM s AS SELECT id, age FROM (SELECT o.id AS id, age FROM orders o JOIN people p ON o.item = p.name);
-- → line 1:40: The query used to build S must include the key column O_ITEM in its projection.
-- →   hint: inner queries must select the key too, in all branches of a UNION ALL at the same place; or PARTITION BY

CREATE STREAM s AS SELECT id, amount FROM orders UNION SELECT id, amount FROM wide;
-- → Created query with ID CSAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CSAS_S_0
-- → S (ID BIGINT KEY, AMOUNT DECIMAL(12, 2))
-- → Write STREAM S to topic S (key KAFKA, value JSON)
-- →   Select ID KEY, AMOUNT
-- →     Each row once
-- →       Union of 2 streams
-- →         Select ID KEY, AMOUNT
-- →           Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- →         Select ID KEY, AMOUNT
-- →           Read STREAM WIDE from topic wide (key KAFKA, value JSON)

CREATE STREAM s AS SELECT id, amount FROM orders UNION ALL SELECT id FROM wide;
-- → line 1:60: a branch of a UNION has 1 columns, the first one has 2

CREATE STREAM s AS SELECT id, amount FROM orders UNION ALL SELECT id, item FROM orders;
-- → line 1:60: column ITEM of a UNION's branch is STRING, and INTEGER in those before it
-- →   hint: CAST one to the other's type

CREATE STREAM s AS SELECT id, item FROM orders UNION ALL SELECT name, age FROM people;
-- → line 1:58: UNION is only supported on streams, and this is a table

CREATE TABLE s AS SELECT name, age FROM (SELECT * FROM people);
-- → Created query with ID CTAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CTAS_S_0
-- → S (NAME STRING KEY, AGE INTEGER)
-- → Write TABLE S to topic S (key KAFKA, value DELIMITED)
-- →   Select NAME KEY, AGE
-- →     Select NAME KEY, AGE
-- →       Read TABLE PEOPLE from topic people (key KAFKA, value DELIMITED)

CREATE TABLE s AS SELECT item, n FROM (SELECT item, COUNT(*) AS n FROM orders GROUP BY item) WHERE n > 1;
-- → Created query with ID CTAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CTAS_S_0
-- → S (ITEM STRING KEY, N BIGINT)
-- → Write TABLE S to topic S (key KAFKA, value JSON)
-- →   Select ITEM KEY, N
-- →     Filter N > 1 (other rows become tombstones)
-- →       Select ITEM KEY, COUNT(*) AS N
-- →         Group by ITEM: COUNT(*)
-- →           Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM s AS SELECT id FROM (SELECT id, item FROM orders LIMIT 3);
-- → line 1:36: an inner query cannot have LIMIT here
-- →   hint: LIMIT is for the whole query, at its end

CREATE STREAM s AS SELECT id, item FROM (SELECT id, item FROM orders EMIT CHANGES);
-- → line 1:42: an inner query cannot have EMIT here
-- →   hint: EMIT is for the whole query, at its end

CREATE STREAM s AS SELECT id, item FROM (SELECT DISTINCT id, item FROM orders);
-- → Created query with ID CSAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CSAS_S_0
-- → S (ID BIGINT KEY, ITEM STRING)
-- → Write STREAM S to topic S (key KAFKA, value JSON)
-- →   Select ID KEY, ITEM
-- →     Each row once
-- →       Select ID KEY, ITEM
-- →         Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM s AS SELECT id, amont FROM (SELECT id, amount FROM orders) o;
-- → line 1:31: SELECT column 'AMONT' cannot be resolved.
-- →   hint: did you mean AMOUNT?

CREATE STREAM s AS SELECT id, place FROM (SELECT id, amount FROM orders) o;
-- → line 1:31: SELECT column 'PLACE' cannot be resolved.
-- →   hint: columns here: ID, AMOUNT

CREATE STREAM s AS SELECT id, item FROM (SELECT id, item, UCASE(item) AS item FROM orders);
-- → line 1:59: The projection contains column ITEM more than once.

CREATE STREAM s AS SELECT id, item FROM (SELECT id, ROWTIME FROM orders);
-- → line 1:53: Reserved column name in select: `ROWTIME`. Please remove or alias the column.

CREATE STREAM s AS SELECT o.id AS id, p.amount AS amount FROM (SELECT id, item FROM orders) o JOIN (SELECT id, amount FROM orders) p WITHIN 1 HOUR ON o.id = p.id;
-- → line 1:100: Can not join 'ORDERS' to 'ORDERS': self joins are not yet supported.
-- →   hint: make a second source over the same topic

CREATE STREAM s AS SELECT j.id AS id FROM (SELECT o.id AS id, age FROM orders o JOIN people p ON o.item = p.name) j JOIN narrow n WITHIN 1 HOUR ON j.id = n.id;
-- → line 1:43: an inner query that joins, groups or has DISTINCT cannot be joined
-- →   hint: CREATE STREAM … AS, or CREATE TABLE … AS, makes a source of it, which FROM can name

CREATE STREAM s AS SELECT id, x FROM (SELECT id, NULL AS x FROM orders);
-- → line 1:50: a bare NULL has no type and cannot be a column
-- →   hint: give it one: CAST(NULL AS STRING)

SELECT id FROM (SELECT id, item FROM orders);
-- → Answer ID
-- →   Select ID KEY, ITEM
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM s WITH (state_ttl='1 DAY') AS SELECT DISTINCT id, item FROM orders WHERE amount > 1 EMIT CHANGES;
-- → Created query with ID CSAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CSAS_S_0
-- → S (ID BIGINT KEY, ITEM STRING)
-- → Write STREAM S to topic S (key KAFKA, value JSON)
-- →   Select ID KEY, ITEM
-- →     Each row once, again after 86400000 ms without it
-- →       Select ID KEY, ITEM
-- →         Filter AMOUNT > 1
-- →           Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

SELECT DISTINCT item FROM orders EMIT CHANGES LIMIT 3;
-- → Answer ITEM
-- →   Each row once
-- →     Select ITEM
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

SELECT DISTINCT item FROM orders;
-- → line 1:1: Pull queries don't support DISTINCT clauses.
-- →   hint: add EMIT CHANGES if you intended to issue a push query; pull queries on tables have it, if millstream.pull.relational is true

CREATE STREAM s AS SELECT DISTINCT item FROM orders;
-- → line 1:20: The query used to build S must include the key column ID in its projection.
-- →   hint: inner queries must select the key too, in all branches of a UNION ALL at the same place; or PARTITION BY

CREATE STREAM s AS SELECT DISTINCT id, AS_MAP(tags, tags) AS m FROM orders;
-- → line 1:20: DISTINCT cannot compare M, which holds a MAP
-- →   hint: leave it out, or select its ENTRIES

CREATE STREAM s AS SELECT DISTINCT id, MAP('a' := item) AS m FROM orders;
-- → line 1:20: DISTINCT cannot compare M, which holds a MAP
-- →   hint: leave it out, or select its ENTRIES

CREATE TABLE s AS SELECT DISTINCT * FROM people;
-- → line 1:19: DISTINCT is only supported on streams, and this is a table
-- →   hint: its rows have each key once

CREATE TABLE s AS SELECT DISTINCT item, COUNT(*) AS n FROM orders GROUP BY item;
-- → line 1:19: DISTINCT is only supported on streams, and this is a table
-- →   hint: its rows have each key once

CREATE STREAM s AS SELECT o.id AS id, w.amount AS amount FROM (SELECT DISTINCT id, item FROM orders) o JOIN wide w WITHIN 1 HOUR ON o.id = w.id;
-- → line 1:63: an inner query that joins, groups or has DISTINCT cannot be joined
-- →   hint: CREATE STREAM … AS, or CREATE TABLE … AS, makes a source of it, which FROM can name

CREATE STREAM s AS SELECT id, amount FROM (SELECT DISTINCT id, amount FROM orders) UNION ALL SELECT id, amount FROM wide;
-- → line 1:20: an inner query that joins, groups or has DISTINCT cannot be in a UNION
-- →   hint: CREATE STREAM … AS, or CREATE TABLE … AS, makes a source of it, which FROM can name

CREATE STREAM s AS SELECT item, n, WINDOWSTART AS ws FROM (SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY item EMIT FINAL) WHERE n > 2;
-- → Created query with ID CSAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CSAS_S_0
-- → S (ITEM STRING KEY, N BIGINT, WS BIGINT)
-- → Write STREAM S to topic S (key KAFKA, value JSON)
-- →   Select ITEM KEY, N, WINDOWSTART AS WS
-- →     Filter N > 2
-- →       Select ITEM KEY, COUNT(*) AS N
-- →         Group by ITEM in TUMBLING windows of 10000 ms, grace 86390000 ms, emitted at its end: COUNT(*)
-- →           Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE TABLE s AS SELECT WINDOWSTART AS starts, MAX(n) AS most FROM (SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY item EMIT FINAL) GROUP BY WINDOWSTART;
-- → Created query with ID CTAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CTAS_S_0
-- → S (STARTS BIGINT KEY, MOST BIGINT)
-- → Write TABLE S to topic S (key KAFKA, value JSON)
-- →   Select WINDOWSTART AS STARTS KEY, MAX(N) AS MOST
-- →     Group by WINDOWSTART: MAX(N)
-- →       Select ITEM KEY, COUNT(*) AS N
-- →         Group by ITEM in TUMBLING windows of 10000 ms, grace 86390000 ms, emitted at its end: COUNT(*)
-- →           Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE TABLE s AS SELECT n, COUNT(*) AS c, WINDOWSTART AS w FROM (SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY item EMIT FINAL) WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY n EMIT FINAL;
-- → Created query with ID CTAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CTAS_S_0
-- → S (N BIGINT KEY, C BIGINT, W BIGINT)
-- → Write TABLE S to topic S (key KAFKA, value JSON)
-- →   Select N KEY, COUNT(*) AS C, WINDOWSTART AS W
-- →     Group by N in TUMBLING windows of 60000 ms, grace 86340000 ms, emitted at its end: COUNT(*)
-- →       Select ITEM KEY, COUNT(*) AS N
-- →         Group by ITEM in TUMBLING windows of 10000 ms, grace 86390000 ms, emitted at its end: COUNT(*)
-- →           Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM s AS SELECT n, item FROM (SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY item EMIT FINAL) PARTITION BY n;
-- → line 1:20: Implicit repartitioning of windowed sources is not supported.
-- →   hint: PARTITION BY would leave the key without its window; GROUP BY works

CREATE STREAM s AS SELECT n FROM (SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY item EMIT FINAL);
-- → line 1:20: The query used to build S must include the key column ITEM in its projection.
-- →   hint: SELECT ITEM, …

CREATE TABLE s AS SELECT * FROM (SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY item EMIT FINAL);
-- → line 1:1: Invalid result type. Your SELECT query produces a STREAM. Please use CREATE STREAM AS SELECT statement instead.

CREATE STREAM s AS SELECT * FROM (SELECT item, COUNT(*) AS n FROM orders WINDOW SESSION (10 SECONDS) GROUP BY item HAVING COUNT(*) > 1 EMIT FINAL) WHERE item <> 'a';
-- → Created query with ID CSAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CSAS_S_0
-- → S (ITEM STRING KEY, N BIGINT)
-- → Write STREAM S to topic S (key KAFKA, value JSON)
-- →   Select ITEM KEY, N
-- →     Filter ITEM <> 'a'
-- →       Select ITEM KEY, COUNT(*) AS N
-- →         Filter COUNT(*) > 1
-- →           Group by ITEM in SESSION windows of 10000 ms, grace 86390000 ms, emitted at its end: COUNT(*)
-- →             Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM s AS SELECT * FROM (SELECT item, COUNT(*) AS n FROM orders WINDOW SESSION (10 SECONDS) GROUP BY item);
-- → line 1:81: an inner query with WINDOW has to have EMIT FINAL here, as the rows of windows that are open change
-- →   hint: write EMIT FINAL at its end; or CREATE TABLE … AS it

CREATE STREAM s AS SELECT * FROM (SELECT item, COUNT(*) AS n FROM orders GROUP BY item EMIT FINAL);
-- → line 1:35: an inner query cannot have EMIT here
-- →   hint: EMIT is for the whole query, at its end

CREATE STREAM s AS SELECT * FROM (SELECT id FROM orders EMIT CHANGES);
-- → line 1:35: an inner query cannot have EMIT here
-- →   hint: EMIT is for the whole query, at its end

CREATE STREAM s AS SELECT w.item AS item, age FROM (SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY item EMIT FINAL) w JOIN people ON w.item = people.name;
-- → line 1:52: an inner query that joins, groups or has DISTINCT cannot be joined
-- →   hint: CREATE STREAM … AS, or CREATE TABLE … AS, makes a source of it, which FROM can name

CREATE STREAM s AS SELECT item, n FROM (SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY item EMIT FINAL) UNION ALL SELECT item, amount FROM orders;
-- → line 1:20: an inner query that joins, groups or has DISTINCT cannot be in a UNION
-- →   hint: CREATE STREAM … AS, or CREATE TABLE … AS, makes a source of it, which FROM can name

SELECT item, n, WINDOWSTART FROM (SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY item EMIT FINAL) EMIT CHANGES;
-- → Answer ITEM, N, WINDOWSTART
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM in TUMBLING windows of 10000 ms, grace 86390000 ms, emitted at its end: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE TABLE s WITH (state_ttl='1 HOURS') AS SELECT WINDOWSTART AS starts, MAX(n) AS most FROM (SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY item EMIT FINAL) GROUP BY WINDOWSTART;
-- → Created query with ID CTAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CTAS_S_0
-- → S (STARTS BIGINT KEY, MOST BIGINT)
-- → Write TABLE S to topic S (key KAFKA, value JSON)
-- →   Select WINDOWSTART AS STARTS KEY, MAX(N) AS MOST
-- →     Group by WINDOWSTART, kept for 3600000 ms without rows: MAX(N)
-- →       Select ITEM KEY, COUNT(*) AS N
-- →         Group by ITEM in TUMBLING windows of 10000 ms, grace 86390000 ms, emitted at its end: COUNT(*)
-- →           Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
