CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; CREATE STREAM s AS SELECT id, d.amount * 2 AS twice FROM dear d WHERE d.item = 'a';
-- → View DEAR created
-- → Created query with ID CSAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CSAS_S_0
-- → S (ID BIGINT KEY, TWICE INTEGER)
-- → Write STREAM S to topic S (key KAFKA, value JSON)
-- →   Select ID KEY, D.AMOUNT * 2 AS TWICE
-- →     Filter D.ITEM = 'a'
-- →       Select ID KEY, ITEM, AMOUNT
-- →         Filter AMOUNT > 5
-- →           Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; CREATE VIEW dearest AS SELECT id, amount FROM dear WHERE amount > 100 EMIT CHANGES; SELECT * FROM dearest EMIT CHANGES;
-- → View DEAR created
-- → View DEAREST created
-- → Answer ID, AMOUNT
-- →   Select ID KEY, AMOUNT
-- →     Filter AMOUNT > 100
-- →       Select ID KEY, ITEM, AMOUNT
-- →         Filter AMOUNT > 5
-- →           Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; CREATE VIEW IF NOT EXISTS dear AS SELECT id FROM orders; CREATE VIEW dear AS SELECT id FROM orders;
-- → View DEAR created
-- → Cannot add view DEAR: A view with the same name already exists
-- → line 1:132: Cannot add view DEAR: A view with the same name already exists
-- →   hint: use CREATE OR REPLACE VIEW, or DROP VIEW it first

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; CREATE TABLE t AS SELECT dear.item AS item, COUNT(*) AS n FROM dear JOIN people p ON dear.item = p.name GROUP BY dear.item;
-- → View DEAR created
-- → Created query with ID CTAS_T_0
-- → create topic T with 2 partition(s)
-- → start query CTAS_T_0
-- → T (ITEM STRING KEY, N BIGINT)
-- → Write TABLE T to topic T (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by DEAR.ITEM: COUNT(*)
-- →       Join (INNER) on DEAR.ITEM = P.NAME; repartition of the left side by the join key
-- →         Select ID KEY, ITEM
-- →           Select ID KEY, ITEM, AMOUNT
-- →             Filter AMOUNT > 5
-- →               Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- →         Select NAME KEY, NAME
-- →           Read TABLE PEOPLE from topic people (key KAFKA, value DELIMITED)

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; CREATE VIEW both AS SELECT item, amount FROM dear UNION ALL SELECT item, amount FROM orders; INSERT INTO late_key SELECT amount AS v, item AS k FROM both PARTITION BY item;
-- → View DEAR created
-- → View BOTH created
-- → Created query with ID INSERTQUERY_0
-- → start query INSERTQUERY_0
-- → Write STREAM LATE_KEY to topic late (key KAFKA, value JSON)
-- →   Select ITEM AS K KEY, AMOUNT AS V
-- →     Partition by ITEM
-- →       Select ITEM, AMOUNT
-- →         Union of 2 streams
-- →           Select ITEM, AMOUNT
-- →             Select ID KEY, ITEM, AMOUNT
-- →               Filter AMOUNT > 5
-- →                 Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- →           Select ITEM, AMOUNT
-- →             Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; CREATE VIEW items AS SELECT DISTINCT item FROM dear; SELECT COUNT(*) AS n FROM items GROUP BY item EMIT CHANGES;
-- → View DEAR created
-- → View ITEMS created
-- → Answer COUNT(*) AS N
-- →   Group by ITEM: COUNT(*)
-- →     Each row once
-- →       Select ITEM
-- →         Select ID KEY, ITEM, AMOUNT
-- →           Filter AMOUNT > 5
-- →             Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE VIEW per_minute AS SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY item EMIT FINAL; SELECT * FROM per_minute WHERE n > 2 EMIT CHANGES;
-- → View PER_MINUTE created
-- → Answer ITEM, WINDOWSTART, WINDOWEND, N
-- →   Filter N > 2
-- →     Select ITEM KEY, COUNT(*) AS N
-- →       Group by ITEM in TUMBLING windows of 60000 ms, grace 86340000 ms, emitted at its end: COUNT(*)
-- →         Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE VIEW per_minute AS SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY item;
-- → line 1:73: an inner query with WINDOW has to have EMIT FINAL here, as the rows of windows that are open change
-- →   hint: write EMIT FINAL at its end; or CREATE TABLE … AS it

CREATE TABLE sold AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE VIEW most AS SELECT item, n FROM sold ORDER BY n DESC LIMIT 3; SELECT item FROM most WHERE n > 1; SELECT * FROM most EMIT CHANGES;
-- → Created query with ID CTAS_SOLD_0
-- → create topic SOLD with 2 partition(s)
-- → start query CTAS_SOLD_0
-- → SOLD (ITEM STRING KEY, N BIGINT)
-- → Write TABLE SOLD to topic SOLD (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → View MOST created
-- → Answer  AS ITEM
-- →   Project ITEM
-- →     Where N > 1
-- →       Take 3 rows
-- →         Sort by N DESC, the first 3
-- →           Project ITEM, N
-- →             Rows of TABLE SOLD: read the whole table
-- → line 1:195: view MOST cannot be read: an inner query cannot have ORDER BY here
-- →   hint: the rows are in the order in which they arrive

CREATE TABLE sold AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE VIEW most AS SELECT item, m FROM sold ORDER BY n DESC LIMIT 3;
-- → Created query with ID CTAS_SOLD_0
-- → create topic SOLD with 2 partition(s)
-- → start query CTAS_SOLD_0
-- → SOLD (ITEM STRING KEY, N BIGINT)
-- → Write TABLE SOLD to topic SOLD (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → line 1:109: SELECT column 'M' cannot be resolved.
-- →   hint: columns here: ITEM, ROWTIME, N

CREATE TABLE sold AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; CREATE VIEW joined AS SELECT s.item AS item, p.age FROM sold s JOIN people p ON s.item = p.name; CREATE TABLE t AS SELECT age, COUNT(*) AS n FROM joined GROUP BY age;
-- → Created query with ID CTAS_SOLD_0
-- → create topic SOLD with 2 partition(s)
-- → start query CTAS_SOLD_0
-- → SOLD (ITEM STRING KEY, N BIGINT)
-- → Write TABLE SOLD to topic SOLD (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → View JOINED created
-- → Created query with ID CTAS_T_1
-- → create topic T with 1 partition(s)
-- → start query CTAS_T_1
-- → T (AGE INTEGER KEY, N BIGINT)
-- → Write TABLE T to topic T (key KAFKA, value JSON)
-- →   Select AGE KEY, COUNT(*) AS N
-- →     Group by AGE: COUNT(*)
-- →       Select ITEM KEY, AGE
-- →         Join (INNER) on S.ITEM = P.NAME
-- →           Select ITEM KEY, ITEM
-- →             Read TABLE SOLD from topic SOLD (key KAFKA, value JSON)
-- →           Select NAME KEY, NAME, AGE
-- →             Read TABLE PEOPLE from topic people (key KAFKA, value DELIMITED)

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; WITH dear AS (SELECT id, price FROM orders) SELECT * FROM dear EMIT CHANGES;
-- → View DEAR created
-- → Answer ID, PRICE
-- →   Select ID KEY, PRICE
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; SELECT wrong FROM dear EMIT CHANGES;
-- → View DEAR created
-- → line 1:82: SELECT column 'WRONG' cannot be resolved.
-- →   hint: columns here: ID, ITEM, AMOUNT

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; SELECT * FROM deer EMIT CHANGES;
-- → View DEAR created
-- → line 1:89: DEER does not exist: no stream or table has that name
-- →   hint: did you mean DEAR?

CREATE VIEW v AS SELECT wrong FROM orders;
-- → line 1:25: SELECT column 'WRONG' cannot be resolved.
-- →   hint: columns here: ID, ITEM, AMOUNT, PRICE, TAGS, PLACE, PLACED

CREATE VIEW people AS SELECT id FROM orders;
-- → line 1:1: Cannot add view PEOPLE: A table with the same name already exists
-- →   hint: choose another name

CREATE VIEW IF NOT EXISTS people AS SELECT id FROM orders;
-- → Cannot add view PEOPLE: A table with the same name already exists

CREATE OR REPLACE VIEW people AS SELECT id FROM orders;
-- → line 1:1: Cannot add view PEOPLE: A table with the same name already exists
-- →   hint: choose another name

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; CREATE STREAM dear AS SELECT id FROM orders;
-- → View DEAR created
-- → line 1:75: Cannot add stream 'DEAR': A view with the same name already exists
-- →   hint: choose another name, or DROP VIEW

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; CREATE STREAM IF NOT EXISTS dear AS SELECT id FROM orders; CREATE TABLE IF NOT EXISTS dear (id INT PRIMARY KEY) WITH (kafka_topic='orders', value_format='JSON');
-- → View DEAR created
-- → Cannot add stream `DEAR`: A view with the same name already exists.
-- → Cannot add table `DEAR`: A view with the same name already exists.

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; INSERT INTO dear SELECT id FROM orders;
-- → View DEAR created
-- → line 1:75: Source DEAR does not exist.
-- →   hint: it is a view, which can only be read

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; INSERT INTO dear (id) VALUES (1);
-- → View DEAR created
-- → line 1:75: Cannot insert values into an unknown stream/table: `DEAR`
-- →   hint: it is a view, which can only be read

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; DROP STREAM dear;
-- → View DEAR created
-- → line 1:75: Stream DEAR does not exist.
-- →   hint: it is a view, which can only be read

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; ALTER STREAM dear ADD COLUMN x INT;
-- → View DEAR created
-- → line 1:75: Source DEAR does not exist.
-- →   hint: it is a view, which can only be read

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; CREATE INDEX i ON dear (item);
-- → View DEAR created
-- → line 1:75: Source DEAR does not exist.
-- →   hint: it is a view, which can only be read

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; CREATE OR REPLACE VIEW dear AS SELECT id, item FROM orders; SELECT * FROM dear EMIT CHANGES;
-- → View DEAR created
-- → View DEAR replaced
-- → Answer ID, ITEM
-- →   Select ID KEY, ITEM
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; CREATE STREAM s AS SELECT id, item FROM dear; CREATE OR REPLACE VIEW dear AS SELECT id, item FROM orders WHERE amount > 7; INSERT INTO s SELECT id, item FROM dear;
-- → View DEAR created
-- → Created query with ID CSAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CSAS_S_0
-- → S (ID BIGINT KEY, ITEM STRING)
-- → Write STREAM S to topic S (key KAFKA, value JSON)
-- →   Select ID KEY, ITEM
-- →     Select ID KEY, ITEM, AMOUNT
-- →       Filter AMOUNT > 5
-- →         Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → View DEAR replaced; queries that read it go on as they were created: CSAS_S_0
-- → Created query with ID INSERTQUERY_1
-- → start query INSERTQUERY_1
-- → Write STREAM S to topic S (key KAFKA, value JSON)
-- →   Select ID KEY, ITEM
-- →     Select ID KEY, ITEM
-- →       Filter AMOUNT > 7
-- →         Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; CREATE VIEW dearest AS SELECT id FROM dear WHERE amount > 100; CREATE OR REPLACE VIEW dear AS SELECT id FROM orders;
-- → View DEAR created
-- → View DEAREST created
-- → line 1:138: view DEAREST reads it, and would no longer be valid: WHERE column 'AMOUNT' cannot be resolved.
-- →   hint: columns here: ID

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; CREATE VIEW dearest AS SELECT id, item FROM dear; CREATE OR REPLACE VIEW dear AS SELECT id FROM dearest;
-- → View DEAR created
-- → View DEAREST created
-- → line 1:125: view DEAR cannot read itself
-- →   hint: it may read streams, tables and views

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; CREATE STREAM s AS SELECT id, item FROM dear; CREATE VIEW dearest AS SELECT id, item FROM dear; DROP VIEW dear;
-- → View DEAR created
-- → Created query with ID CSAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CSAS_S_0
-- → S (ID BIGINT KEY, ITEM STRING)
-- → Write STREAM S to topic S (key KAFKA, value JSON)
-- →   Select ID KEY, ITEM
-- →     Select ID KEY, ITEM, AMOUNT
-- →       Filter AMOUNT > 5
-- →         Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → View DEAREST created
-- → line 1:171: Cannot drop view DEAR: it is read by CSAS_S_0, DEAREST
-- →   hint: TERMINATE these queries, and DROP these views, first

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; CREATE STREAM s AS SELECT id, item FROM dear; TERMINATE CSAS_S_0; DROP VIEW dear; DROP VIEW dear;
-- → View DEAR created
-- → Created query with ID CSAS_S_0
-- → create topic S with 2 partition(s)
-- → start query CSAS_S_0
-- → S (ID BIGINT KEY, ITEM STRING)
-- → Write STREAM S to topic S (key KAFKA, value JSON)
-- →   Select ID KEY, ITEM
-- →     Select ID KEY, ITEM, AMOUNT
-- →       Filter AMOUNT > 5
-- →         Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Query terminated.
-- → stop query CSAS_S_0
-- → View DEAR dropped
-- → line 1:157: View DEAR does not exist

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; DROP VIEW dear; DROP VIEW IF EXISTS dear;
-- → View DEAR created
-- → View DEAR dropped
-- → View DEAR does not exist

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; DROP VIEW deer;
-- → View DEAR created
-- → line 1:75: View DEER does not exist
-- →   hint: did you mean DEAR?

DROP VIEW orders;
-- → line 1:1: ORDERS is a stream, not a view
-- →   hint: DROP STREAM drops it

CREATE VIEW dear AS SELECT id, item, amount FROM orders WHERE amount > 5; CREATE VIEW dearest AS SELECT id, item FROM dear; DROP STREAM orders;
-- → View DEAR created
-- → View DEAREST created
-- → line 1:125: Cannot drop ORDERS.
-- → The following views read from this source: [DEAR, DEAREST].
-- →   hint: DROP VIEW them first

CREATE TABLE sold AS SELECT item, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY item; CREATE VIEW totals AS SELECT item, total FROM sold; CREATE VIEW more AS SELECT * FROM totals WHERE total > 7; CREATE OR REPLACE TABLE sold WITH (rebuild=true) AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item; ALTER TABLE sold CUT OVER; SELECT * FROM more EMIT CHANGES;
-- → Created query with ID CTAS_SOLD_0
-- → create topic SOLD with 2 partition(s)
-- → start query CTAS_SOLD_0
-- → SOLD (ITEM STRING KEY, N BIGINT, TOTAL INTEGER)
-- → Write TABLE SOLD to topic SOLD (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N, SUM(AMOUNT) AS TOTAL
-- →     Group by ITEM: COUNT(*), SUM(AMOUNT)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → View TOTALS created
-- → View MORE created
-- → Created query with ID CTAS_SOLD_1; it rebuilds SOLD as SOLD_1 (topic SOLD_1), and SOLD is cut over to it when it has caught up
-- → create topic SOLD_1 with 2 partition(s)
-- → start query CTAS_SOLD_1
-- → SOLD_1 (ITEM STRING KEY, N BIGINT)
-- → Write TABLE SOLD_1 to topic SOLD_1 (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS N
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → SOLD is written by CTAS_SOLD_1 now, into topic SOLD_1. The topic SOLD stays, without a query.
-- → stop query CTAS_SOLD_0
-- → query CTAS_SOLD_1 writes SOLD
-- → SOLD (ITEM STRING KEY, N BIGINT)
-- → line 1:355: view MORE cannot be read: view TOTALS cannot be read: SELECT column 'TOTAL' cannot be resolved.
-- →   hint: columns here: ITEM, N
