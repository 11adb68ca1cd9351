CREATE STREAM o AS SELECT id, LAG(amount) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS previous FROM orders;
-- → Created query with ID CSAS_O_0
-- → create topic O with 2 partition(s)
-- → start query CSAS_O_0
-- → O (ID BIGINT KEY, PREVIOUS INTEGER)
-- → Write STREAM O to topic O (key KAFKA, value JSON)
-- →   Select ID KEY, LAG(AMOUNT) OVER (PARTITION BY ITEM ORDER BY ROWOFFSET) AS PREVIOUS
-- →     Over all rows with the same ITEM before a row: LAG(AMOUNT)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM o AS SELECT id, LAG(amount) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS previous, SUM(amount) FILTER (WHERE amount > 1) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS total, AVG(amount) OVER (PARTITION BY item, amount ORDER BY ROWOFFSET ROWS 4 PRECEDING) AS mean FROM orders;
-- → Created query with ID CSAS_O_0
-- → create topic O with 2 partition(s)
-- → start query CSAS_O_0
-- → O (ID BIGINT KEY, PREVIOUS INTEGER, TOTAL INTEGER, MEAN DOUBLE)
-- → Write STREAM O to topic O (key KAFKA, value JSON)
-- →   Select ID KEY, LAG(AMOUNT) OVER (PARTITION BY ITEM ORDER BY ROWOFFSET) AS PREVIOUS, SUM(AMOUNT) FILTER (WHERE AMOUNT > 1) OVER (PARTITION BY ITEM ORDER BY ROWOFFSET) AS TOTAL, AVG(AMOUNT) OVER (PARTITION BY ITEM, AMOUNT ORDER BY ROWOFFSET ROWS 4 PRECEDING) AS MEAN
-- →     Over the 4 rows with the same ITEM, AMOUNT before a row: AVG(AMOUNT)
-- →       Over all rows with the same ITEM before a row: LAG(AMOUNT), SUM(AMOUNT) FILTER (WHERE AMOUNT > 1)
-- →         Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM o WITH (state_ttl='7 DAYS') AS SELECT id, ROW_NUMBER() OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM orders;
-- → Created query with ID CSAS_O_0
-- → create topic O with 2 partition(s)
-- → start query CSAS_O_0
-- → O (ID BIGINT KEY, N BIGINT)
-- → Write STREAM O to topic O (key KAFKA, value JSON)
-- →   Select ID KEY, ROW_NUMBER() OVER (PARTITION BY ITEM ORDER BY ROWOFFSET) AS N
-- →     Over all rows with the same ITEM before a row, forgotten after 604800000 ms without one: ROW_NUMBER()
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM o AS SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM orders) WHERE n = 1;
-- → Created query with ID CSAS_O_0
-- → create topic O with 2 partition(s)
-- → start query CSAS_O_0
-- → O (ID BIGINT KEY, ITEM STRING, AMOUNT INTEGER, PRICE DECIMAL(6, 2), TAGS ARRAY<STRING>, PLACE STRUCT<`CITY` STRING, `ZIP` INTEGER>, PLACED TIMESTAMP, N BIGINT)
-- → Write STREAM O to topic O (key KAFKA, value JSON)
-- →   Select ID KEY, ITEM, AMOUNT, PRICE, TAGS, PLACE, PLACED, N
-- →     Filter N = 1
-- →       Select ID KEY, ITEM, AMOUNT, PRICE, TAGS, PLACE, PLACED, ROW_NUMBER() OVER (PARTITION BY ITEM ORDER BY ROWOFFSET) AS N
-- →         Over all rows with the same ITEM before a row: ROW_NUMBER()
-- →           Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM o AS SELECT id, over, amount over FROM (SELECT id, amount, item AS over FROM orders);
-- → line 1:37: The projection contains column OVER more than once.

CREATE STREAM o AS SELECT id, LAG(amount) OVER (PARTITION BY item ORDER BY ROWTIME) AS previous FROM orders;
-- → line 1:76: the rows of OVER are in the order in which they arrive: ORDER BY ROWOFFSET
-- →   hint: a query that keeps running does not hold a row back until all with earlier times are there

CREATE STREAM o AS SELECT id, LAG(amount) OVER (PARTITION BY item ORDER BY ROWOFFSET DESC) AS previous FROM orders;
-- → line 1:76: the rows of OVER are in the order in which they arrive: ORDER BY ROWOFFSET
-- →   hint: a query that keeps running does not hold a row back until all with earlier times are there

CREATE STREAM o AS SELECT id, LAG(amount) OVER (PARTITION BY item) AS previous FROM orders;
-- → line 1:66: the rows of OVER are in the order in which they arrive: ORDER BY ROWOFFSET
-- →   hint: a query that keeps running does not hold a row back until all with earlier times are there

CREATE STREAM o AS SELECT id, LAG(amount) OVER (ORDER BY ROWOFFSET) AS previous FROM orders;
-- → line 1:43: OVER has no PARTITION BY
-- →   hint: PARTITION BY 1 has all rows in one partition, and uses one core

CREATE STREAM o AS SELECT id, LAG(amount) OVER w AS previous FROM orders;
-- → line 1:48: unexpected w; expected ',' or FROM
-- →   hint: OVER comes after a call: SUM(v) OVER (PARTITION BY k ORDER BY ROWOFFSET)

CREATE STREAM o AS SELECT id, SUM(amount) OVER (PARTITION BY item ORDER BY ROWOFFSET ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS n FROM orders;
-- → line 1:115: unexpected 1; expected CURRENT
-- →   hint: a row does not wait for those after it: ROWS BETWEEN 9 PRECEDING AND CURRENT ROW

CREATE STREAM o AS SELECT id, SUM(amount) OVER (PARTITION BY item ORDER BY ROWOFFSET RANGE UNBOUNDED PRECEDING) AS n FROM orders;
-- → line 1:86: unexpected RANGE; expected ASC, ROWS or ')'
-- →   hint: OVER has a number of rows, ROWS 9 PRECEDING; rows within a time are a WINDOW of GROUP BY

CREATE STREAM o AS SELECT id, SUM(amount) OVER (PARTITION BY item ORDER BY ROWOFFSET ROWS 1001 PRECEDING) AS n FROM orders;
-- → line 1:43: ROWS 1001 PRECEDING is too many, as each row is stored: the most is 1000
-- →   hint: leave ROWS out for all rows before, or GROUP BY with a WINDOW

CREATE STREAM o AS SELECT id, LAG(amount) OVER (PARTITION BY item ORDER BY ROWOFFSET ROWS 1 PRECEDING) AS n FROM orders;
-- → line 1:43: LAG is of all rows before, without ROWS
-- →   hint: leave ROWS out

CREATE STREAM o AS SELECT id, LAG(amount, 1001) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM orders;
-- → line 1:31: LAG looks back 0 to 1000 rows, by a constant; this is 1001

CREATE STREAM o AS SELECT id, LAG(amount, amount) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM orders;
-- → line 1:43: Parameter 2 passed to function LAG must be a literal constant, but was expression: 'AMOUNT'

CREATE STREAM o AS SELECT id, LEAD(amount) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM orders;
-- → line 1:31: there is no function named 'LEAD'
-- →   hint: a row does not wait for the next one: LAG(v) OVER (PARTITION BY k ORDER BY ROWOFFSET) is the value of the row before

CREATE STREAM o AS SELECT id, RANK() OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM orders;
-- → line 1:31: there is no function named 'RANK'
-- →   hint: write TOPK(v, 3) for the greatest of a group, or ROW_NUMBER() OVER (PARTITION BY k ORDER BY ROWOFFSET) for the order of arrival

CREATE STREAM o AS SELECT id, UCASE(item) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM orders;
-- → line 1:31: UCASE is no aggregate function, and OVER is for these
-- →   hint: e.g. SUM(v), COUNT(*), LAG(v), ROW_NUMBER(); others need no OVER

CREATE STREAM o AS SELECT id, COUNT(DISTINCT amount) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM orders;
-- → line 1:31: COUNT(DISTINCT …) cannot have OVER
-- →   hint: COUNT_DISTINCT estimates

CREATE STREAM o AS SELECT id, SUM(LAG(amount) OVER (PARTITION BY item ORDER BY ROWOFFSET)) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM orders;
-- → line 1:35: LAG cannot be inside of a call with OVER
-- →   hint: SELECT it in an inner query: FROM (SELECT …, ROW_NUMBER() OVER (…) AS n FROM a) WHERE n = 1

CREATE STREAM o AS SELECT id, SUM(COUNT(amount)) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM orders;
-- → line 1:35: aggregate function COUNT without a GROUP BY clause
-- →   hint: group by an expression; a constant makes one group of all rows

CREATE STREAM o AS SELECT id FROM orders WHERE ROW_NUMBER() OVER (PARTITION BY item ORDER BY ROWOFFSET) = 1;
-- → line 1:48: OVER is only allowed in SELECT
-- →   hint: SELECT it in an inner query: FROM (SELECT …, ROW_NUMBER() OVER (…) AS n FROM a) WHERE n = 1

CREATE STREAM o AS SELECT id, amount FROM orders PARTITION BY LAG(amount) OVER (PARTITION BY item ORDER BY ROWOFFSET);
-- → line 1:63: OVER is only allowed in SELECT
-- →   hint: SELECT it in an inner query: FROM (SELECT …, ROW_NUMBER() OVER (…) AS n FROM a) WHERE n = 1

CREATE TABLE o AS SELECT item, COUNT(*) AS n, LAG(item) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS m FROM orders GROUP BY item;
-- → line 1:47: OVER and GROUP BY cannot be in one query
-- →   hint: GROUP BY around it: FROM (SELECT …, LAG(v) OVER (…) AS before FROM a) GROUP BY …

CREATE TABLE o AS SELECT name, LAG(name) OVER (PARTITION BY name ORDER BY ROWOFFSET) AS n FROM people;
-- → line 1:32: OVER is only supported on streams, and this is a table
-- →   hint: use it on the stream that the table is computed from

CREATE STREAM o AS SELECT id, LAG(nothing) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM orders;
-- → line 1:35: SELECT column 'NOTHING' cannot be resolved.
-- →   hint: columns here: ID, ITEM, AMOUNT, PRICE, TAGS, PLACE, PLACED

CREATE STREAM o AS SELECT id, LAG(item) OVER (PARTITION BY nothing ORDER BY ROWOFFSET) AS n FROM orders;
-- → line 1:60: SELECT column 'NOTHING' cannot be resolved.
-- →   hint: columns here: ID, ITEM, AMOUNT, PRICE, TAGS, PLACE, PLACED

CREATE STREAM o AS SELECT id, LAG(item) OVER (PARTITION BY NULL ORDER BY ROWOFFSET) AS n FROM orders;
-- → line 1:60: OVER cannot be PARTITION BY NULL, which is NULL
-- →   hint: a constant has all rows in one partition: PARTITION BY 1

CREATE STREAM o AS SELECT id, LAG(item) AS n FROM orders;
-- → line 1:31: there is no function named 'LAG'
-- →   hint: write LAG(v) OVER (PARTITION BY k ORDER BY ROWOFFSET)

CREATE STREAM o AS SELECT id, ROW_NUMBER() AS n FROM orders;
-- → line 1:31: there is no function named 'ROW_NUMBER'
-- →   hint: write ROW_NUMBER() OVER (PARTITION BY k ORDER BY ROWOFFSET)

SELECT id, LAG(item) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM orders EMIT CHANGES;
-- → Answer ID, LAG(ITEM) OVER (PARTITION BY ITEM ORDER BY ROWOFFSET) AS N
-- →   Over all rows with the same ITEM before a row: LAG(ITEM)
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

SELECT id, LAG(item) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM orders;
-- → Answer ID, LAG(ITEM) OVER (PARTITION BY ITEM ORDER BY ROWOFFSET) AS N
-- →   Over all rows with the same ITEM before a row: LAG(ITEM)
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

SELECT name, ROW_NUMBER() OVER (PARTITION BY name ORDER BY ROWOFFSET) AS n FROM people;
-- → line 1:14: OVER is only supported on streams, and this is a table
-- →   hint: use it on the stream that the table is computed from

CREATE STREAM late AS SELECT id, LAG(item) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM orders; CREATE OR REPLACE STREAM late AS SELECT id, LAG(item) OVER (PARTITION BY amount ORDER BY ROWOFFSET) AS n FROM orders;
-- → Created query with ID CSAS_LATE_0
-- → create topic LATE with 2 partition(s)
-- → start query CSAS_LATE_0
-- → LATE (ID BIGINT KEY, N STRING)
-- → Write STREAM LATE to topic LATE (key KAFKA, value JSON)
-- →   Select ID KEY, LAG(ITEM) OVER (PARTITION BY ITEM ORDER BY ROWOFFSET) AS N
-- →     Over all rows with the same ITEM before a row: LAG(ITEM)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → line 1:106: Cannot replace stream LATE: its OVER cannot change
-- →   hint: it has LAG(ITEM) by ITEM; WITH (REBUILD=true) rebuilds it beside the running query; EXPLAIN of this statement shows what would be kept

CREATE STREAM late AS SELECT id, LAG(item) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM orders; CREATE OR REPLACE STREAM late AS SELECT id, LAG(item) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n, amount FROM orders WHERE amount > 0;
-- → Created query with ID CSAS_LATE_0
-- → create topic LATE with 2 partition(s)
-- → start query CSAS_LATE_0
-- → LATE (ID BIGINT KEY, N STRING)
-- → Write STREAM LATE to topic LATE (key KAFKA, value JSON)
-- →   Select ID KEY, LAG(ITEM) OVER (PARTITION BY ITEM ORDER BY ROWOFFSET) AS N
-- →     Over all rows with the same ITEM before a row: LAG(ITEM)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → Created query with ID CSAS_LATE_0
-- → pause query CSAS_LATE_0
-- → create topic LATE with 2 partition(s)
-- → start query CSAS_LATE_0
-- → LATE (ID BIGINT KEY, N STRING, AMOUNT INTEGER)
-- → Write STREAM LATE to topic LATE (key KAFKA, value JSON)
-- →   Select ID KEY, LAG(ITEM) OVER (PARTITION BY ITEM ORDER BY ROWOFFSET) AS N, AMOUNT
-- →     Over all rows with the same ITEM before a row: LAG(ITEM)
-- →       Filter AMOUNT > 0
-- →         Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
