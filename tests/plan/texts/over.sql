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
-- →   hint: a query that keeps running does not hold a row back until all with earlier times are there; ORDER BY ROWTIME RANGE 1 HOUR PRECEDING takes those of the last hour

CREATE STREAM o AS SELECT id, LAG(amount) OVER (PARTITION BY item ORDER BY ROWOFFSET DESC) AS previous FROM orders;
-- → line 1:76: the rows of OVER are in the order in which they arrive: ORDER BY ROWOFFSET
-- →   hint: a query that keeps running does not hold a row back until all with earlier times are there; ORDER BY ROWTIME RANGE 1 HOUR PRECEDING takes those of the last hour

CREATE STREAM o AS SELECT id, LAG(amount) OVER (PARTITION BY item) AS previous FROM orders;
-- → line 1:66: the rows of OVER are in the order in which they arrive: ORDER BY ROWOFFSET
-- →   hint: a query that keeps running does not hold a row back until all with earlier times are there; ORDER BY ROWTIME RANGE 1 HOUR PRECEDING takes those of the last hour

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
-- → line 1:86: RANGE is a range of times: ORDER BY ROWTIME
-- →   hint: ORDER BY ROWTIME RANGE 1 HOUR PRECEDING, or ORDER BY ROWOFFSET ROWS 9 PRECEDING

CREATE STREAM o AS SELECT id, SUM(amount) OVER (PARTITION BY item ORDER BY ROWOFFSET ROWS 1001 PRECEDING) AS n FROM orders;
-- → line 1:43: ROWS 1001 PRECEDING is too many, as each row is stored: the most is 1000
-- →   hint: leave ROWS out for all rows before, or GROUP BY with a WINDOW

CREATE STREAM o AS SELECT id, LAG(amount) OVER (PARTITION BY item ORDER BY ROWOFFSET ROWS 1 PRECEDING) AS n FROM orders;
-- → line 1:43: LAG is of all rows before, without ROWS or RANGE
-- →   hint: leave it out: ORDER BY ROWOFFSET

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
-- → line 1:31: UCASE is not an aggregate function: OVER requires one
-- →   hint: e.g. SUM(v), COUNT(*), LAG(v), ROW_NUMBER(); others need no OVER

CREATE STREAM o AS SELECT id, COUNT(DISTINCT amount) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM orders;
-- → line 1:31: COUNT(DISTINCT …) cannot have OVER
-- →   hint: COUNT_DISTINCT estimates

CREATE STREAM o AS SELECT id, SUM(LAG(amount) OVER (PARTITION BY item ORDER BY ROWOFFSET)) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM orders;
-- → line 1:35: LAG cannot be inside of a call with OVER
-- →   hint: SELECT it in an inner query: FROM (SELECT …, ROW_NUMBER() OVER (…) AS n FROM a) WHERE n = 1

CREATE STREAM o AS SELECT id, SUM(COUNT(amount)) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM orders;
-- → line 1:35: aggregate function COUNT without a GROUP BY clause
-- →   hint: group by an expression; a constant puts all rows in one group

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
-- →   hint: it has LAG(ITEM) by ITEM; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept

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

CREATE STREAM o AS SELECT id, SUM(amount) OVER (PARTITION BY item ORDER BY ROWTIME RANGE 1 HOUR PRECEDING) AS total, COUNT(*) OVER (PARTITION BY item ORDER BY ROWTIME ASC RANGE BETWEEN 90 SECONDS PRECEDING AND CURRENT ROW GRACE PERIOD 5 SECONDS) AS n FROM orders;
-- → Created query with ID CSAS_O_0
-- → create topic O with 2 partition(s)
-- → start query CSAS_O_0
-- → O (ID BIGINT KEY, TOTAL INTEGER, N BIGINT)
-- → Write STREAM O to topic O (key KAFKA, value JSON)
-- →   Select ID KEY, SUM(AMOUNT) OVER (PARTITION BY ITEM ORDER BY ROWTIME RANGE 1 HOURS PRECEDING) AS TOTAL, COUNT(*) OVER (PARTITION BY ITEM ORDER BY ROWTIME RANGE 90 SECONDS PRECEDING GRACE PERIOD 5 SECONDS) AS N
-- →     Over the rows of 90000 ms with the same ITEM before a row, which may be 5000 ms late: COUNT(*)
-- →       Over the rows of 3600000 ms with the same ITEM before a row, which may be 3600000 ms late: SUM(AMOUNT)
-- →         Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM o AS SELECT id, SUM(amount) OVER (PARTITION BY item ORDER BY ROWTIME RANGE 7 DAYS PRECEDING) AS total FROM orders;
-- → Created query with ID CSAS_O_0
-- → create topic O with 2 partition(s)
-- → start query CSAS_O_0
-- → O (ID BIGINT KEY, TOTAL INTEGER)
-- → Write STREAM O to topic O (key KAFKA, value JSON)
-- →   Select ID KEY, SUM(AMOUNT) OVER (PARTITION BY ITEM ORDER BY ROWTIME RANGE 7 DAYS PRECEDING) AS TOTAL
-- →     Over the rows of 604800000 ms with the same ITEM before a row, which may be 86400000 ms late: SUM(AMOUNT)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE STREAM o AS SELECT id, SUM(amount) OVER (PARTITION BY item ORDER BY placed RANGE 1 HOUR PRECEDING) AS total FROM orders;
-- → line 1:76: the rows of OVER are in the order in which they arrive: ORDER BY ROWOFFSET
-- →   hint: a query that keeps running does not hold a row back until all with earlier times are there; ORDER BY ROWTIME RANGE 1 HOUR PRECEDING takes those of the last hour

CREATE STREAM o AS SELECT id, SUM(amount) OVER (PARTITION BY item ORDER BY ROWTIME DESC RANGE 1 HOUR PRECEDING) AS total FROM orders;
-- → line 1:76: the rows of OVER are in the order in which they arrive: ORDER BY ROWOFFSET
-- →   hint: a query that keeps running does not hold a row back until all with earlier times are there; ORDER BY ROWTIME RANGE 1 HOUR PRECEDING takes those of the last hour

CREATE STREAM o AS SELECT id, SUM(amount) OVER (PARTITION BY item ORDER BY ROWTIME ROWS 1 PRECEDING) AS total FROM orders;
-- → line 1:76: the rows of OVER are in the order in which they arrive: ORDER BY ROWOFFSET
-- →   hint: a query that keeps running does not hold a row back until all with earlier times are there; ORDER BY ROWTIME RANGE 1 HOUR PRECEDING takes those of the last hour

CREATE STREAM o AS SELECT id, SUM(amount) OVER (PARTITION BY item ORDER BY ROWOFFSET RANGE 1 HOUR PRECEDING) AS total FROM orders;
-- → line 1:86: RANGE is a range of times: ORDER BY ROWTIME
-- →   hint: ORDER BY ROWTIME RANGE 1 HOUR PRECEDING, or ORDER BY ROWOFFSET ROWS 9 PRECEDING

CREATE STREAM o AS SELECT id, SUM(amount) OVER (PARTITION BY item ORDER BY ROWTIME RANGE UNBOUNDED PRECEDING) AS total FROM orders;
-- → line 1:90: unexpected UNBOUNDED; expected BETWEEN or a duration such as 10 SECONDS
-- →   hint: OVER takes a number of rows, ROWS 9 PRECEDING, or a time: ORDER BY ROWTIME RANGE 1 HOUR PRECEDING

CREATE STREAM o AS SELECT id, SUM(amount) OVER (PARTITION BY item ORDER BY ROWTIME RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) AS total FROM orders;
-- → line 1:98: unexpected INTERVAL; expected a duration such as 10 SECONDS
-- →   hint: a time is moved by TIMESTAMPADD(HOURS, 1, t) and TIMESTAMPSUB; a duration is written 1 HOUR

CREATE STREAM o AS SELECT id, SUM(amount) OVER (PARTITION BY item ORDER BY ROWTIME RANGE 1 MONTH PRECEDING) AS total FROM orders;
-- → line 1:92: unexpected MONTH; expected MILLISECONDS, SECONDS, MINUTES, HOURS or DAYS

CREATE STREAM o AS SELECT id, SUM(amount) OVER (PARTITION BY item ORDER BY ROWTIME RANGE 1000000000000 DAYS PRECEDING) AS total FROM orders;
-- → line 1:84: RANGE and GRACE PERIOD are too long
-- →   hint: the most are 4611686018427387904 ms

CREATE STREAM o AS SELECT id, ROW_NUMBER() OVER (PARTITION BY item ORDER BY ROWTIME RANGE 1 HOUR PRECEDING) AS n FROM orders;
-- → line 1:44: ROW_NUMBER is of all rows before, without ROWS or RANGE
-- →   hint: leave it out: ORDER BY ROWOFFSET

CREATE STREAM o WITH (state_ttl='7 DAYS') AS SELECT id, SUM(amount) OVER (PARTITION BY item ORDER BY ROWTIME RANGE 1 HOUR PRECEDING) AS total FROM orders;
-- → line 1:23: STATE_TTL is for the groups of a stream without a window, for SELECT DISTINCT, and for OVER
-- →   hint: windows have RETENTION and GRACE PERIOD, OVER with RANGE has GRACE PERIOD

CREATE STREAM late AS SELECT id, SUM(amount) OVER (PARTITION BY item ORDER BY ROWTIME RANGE 1 HOUR PRECEDING) AS n FROM orders; CREATE OR REPLACE STREAM late AS SELECT id, SUM(amount) OVER (PARTITION BY item ORDER BY ROWTIME RANGE 2 HOURS PRECEDING) AS n FROM orders;
-- → Created query with ID CSAS_LATE_0
-- → create topic LATE with 2 partition(s)
-- → start query CSAS_LATE_0
-- → LATE (ID BIGINT KEY, N INTEGER)
-- → Write STREAM LATE to topic LATE (key KAFKA, value JSON)
-- →   Select ID KEY, SUM(AMOUNT) OVER (PARTITION BY ITEM ORDER BY ROWTIME RANGE 1 HOURS PRECEDING) AS N
-- →     Over the rows of 3600000 ms with the same ITEM before a row, which may be 3600000 ms late: SUM(AMOUNT)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- → line 1:129: Cannot replace stream LATE: its OVER cannot change
-- →   hint: it has SUM(AMOUNT) by ITEM, rows of 3600000 ms before, kept for 7200000 ms without rows; WITH (REBUILD=true) rebuilds it alongside the running query; EXPLAIN of this statement shows what would be kept
