CREATE TABLE n AS SELECT item, COUNT(DISTINCT amount) AS a, COUNT(amount) AS n, SUM(DISTINCT amount) AS s FROM orders GROUP BY item;
-- → Created query with ID CTAS_N_0
-- → create topic N with 2 partition(s)
-- → start query CTAS_N_0
-- → N (ITEM STRING KEY, A BIGINT, N BIGINT, S INTEGER)
-- → Write TABLE N to topic N (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(DISTINCT AMOUNT) AS A, COUNT(AMOUNT) AS N, SUM(DISTINCT AMOUNT) AS S
-- →     Group by ITEM: COUNT(DISTINCT AMOUNT), COUNT(AMOUNT), SUM(DISTINCT AMOUNT)
-- →       Each value once in its group: AMOUNT
-- →         Select ID KEY, ITEM, AMOUNT, AMOUNT
-- →           Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE TABLE n WITH (key_format='JSON') AS SELECT item, place->city, COUNT(DISTINCT amount + 1) AS a, AVG(price) AS p FROM orders WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 0 SECONDS) WHERE amount > 1 GROUP BY item, place->city HAVING COUNT(DISTINCT tags) > 1 EMIT FINAL;
-- → Created query with ID CTAS_N_0
-- → create topic N with 2 partition(s)
-- → start query CTAS_N_0
-- → N (ITEM STRING KEY, CITY STRING KEY, A BIGINT, P DOUBLE)
-- → Write TABLE N to topic N (key JSON, value JSON)
-- →   Select ITEM KEY, PLACE->CITY AS CITY KEY, COUNT(DISTINCT AMOUNT + 1) AS A, AVG(PRICE) AS P
-- →     Filter COUNT(DISTINCT TAGS) > 1 (other rows become tombstones)
-- →       Group by ITEM, PLACE->CITY in TUMBLING windows of 3600000 ms, grace 0 ms, emitted at its end: COUNT(DISTINCT AMOUNT + 1), AVG(PRICE), COUNT(DISTINCT TAGS)
-- →         Each value once in its group: AMOUNT + 1, TAGS
-- →           Select ID KEY, ITEM, PLACE->CITY AS `PLACE->CITY`, PRICE, AMOUNT + 1 AS `AMOUNT + 1`, TAGS
-- →             Filter AMOUNT > 1
-- →               Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE TABLE n WITH (key_format='JSON') AS SELECT a, b, COUNT(DISTINCT v) AS n FROM pairs GROUP BY a, b;
-- → Created query with ID CTAS_N_0
-- → create topic N with 1 partition(s)
-- → start query CTAS_N_0
-- → N (A INTEGER KEY, B INTEGER KEY, N BIGINT)
-- → Write TABLE N to topic N (key JSON, value JSON)
-- →   Select A KEY, B KEY, COUNT(DISTINCT V) AS N
-- →     Group by A, B: COUNT(DISTINCT V)
-- →       Each value once in its group: V
-- →         Select A KEY, B KEY, A, B, V
-- →           Read STREAM PAIRS from topic pairs (key JSON, value JSON)

CREATE TABLE n AS SELECT o.item AS item, COUNT(DISTINCT p.age) AS n FROM orders o JOIN people p ON o.item = p.name GROUP BY o.item;
-- → Created query with ID CTAS_N_0
-- → create topic N with 2 partition(s)
-- → start query CTAS_N_0
-- → N (ITEM STRING KEY, N BIGINT)
-- → Write TABLE N to topic N (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(DISTINCT P.AGE) AS N
-- →     Group by O.ITEM: COUNT(DISTINCT P.AGE)
-- →       Each value once in its group: P.AGE
-- →         Select O_ITEM KEY, ITEM, P.AGE AS `P.AGE`
-- →           Join (INNER) on O.ITEM = P.NAME; repartition of the left side by the join key
-- →             Select ID KEY, ITEM
-- →               Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
-- →             Select NAME KEY, NAME, AGE
-- →               Read TABLE PEOPLE from topic people (key KAFKA, value DELIMITED)

SELECT item, COUNT(DISTINCT id) AS n FROM orders GROUP BY item EMIT CHANGES;
-- → Answer ITEM, COUNT(DISTINCT ID) AS N
-- →   Group by ITEM: COUNT(DISTINCT ID)
-- →     Each value once in its group: ID
-- →       Select ID KEY, ITEM, ID
-- →         Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE TABLE n AS SELECT age, COUNT(DISTINCT name) AS n FROM people GROUP BY age;
-- → line 1:31: COUNT(DISTINCT …) cannot be applied to a table source, only to a stream source.
-- →   hint: a pull query can, over the table's rows of the moment

CREATE TABLE n AS SELECT item, COUNT(DISTINCT id) AS n FROM orders WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 1 MINUTE) GROUP BY item;
-- → Created query with ID CTAS_N_0
-- → create topic N with 2 partition(s)
-- → start query CTAS_N_0
-- → N (ITEM STRING KEY, N BIGINT)
-- → Write TABLE N to topic N (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(DISTINCT ID) AS N
-- →     Group by ITEM in HOPPING windows of 3600000 ms, advance 60000 ms, grace 82800000 ms, emitted at each row: COUNT(DISTINCT ID)
-- →       Each value once in its group: ID
-- →         Select ID KEY, ITEM, ID
-- →           Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE TABLE n AS SELECT item, SUM(DISTINCT amount) AS n FROM orders WINDOW SESSION (1 HOUR) GROUP BY item;
-- → line 1:32: SUM(DISTINCT …) cannot be computed in SESSION windows: two that merge may have the same values
-- →   hint: COUNT_DISTINCT estimates, in windows of each kind

CREATE TABLE n AS SELECT item, COLLECT_LIST(DISTINCT amount) AS n FROM orders GROUP BY item;
-- → line 1:32: DISTINCT in a query that keeps running is for COUNT, SUM, AVG, MIN and MAX
-- →   hint: COLLECT_SET and TOPKDISTINCT have each value once

CREATE TABLE n AS SELECT item, COUNT(DISTINCT amount, id) AS n FROM orders GROUP BY item;
-- → line 1:32: Function 'COUNT' does not accept parameters (INTEGER, BIGINT).
-- →   hint: valid calls are COUNT(); COUNT(value ANY)

CREATE TABLE n AS SELECT item, COUNT(DISTINCT *) AS n FROM orders GROUP BY item;
-- → line 1:47: unexpected '*'; expected an expression

CREATE TABLE n AS SELECT item, COUNT(DISTINCT) AS n FROM orders GROUP BY item;
-- → line 1:46: unexpected ')'; expected an expression

CREATE TABLE n AS SELECT UCASE(DISTINCT item) AS item, COUNT(*) AS n FROM orders GROUP BY item;
-- → line 1:26: DISTINCT applies only to aggregate functions, and UCASE is not one

CREATE TABLE n WITH (state_ttl='1 DAY') AS SELECT item, COUNT(DISTINCT amount) AS n FROM orders GROUP BY item;
-- → line 1:22: STATE_TTL and DISTINCT in an aggregate cannot be together: the values of a group would be forgotten
-- →   hint: a WINDOW, or COUNT_DISTINCT, which estimates

CREATE TABLE n AS SELECT item, COUNT(DISTINCT COUNT(*)) AS n FROM orders GROUP BY item;
-- → line 1:47: Aggregate functions can not be nested: COUNT(COUNT())
-- →   hint: group a first time in an inner query: FROM (SELECT … GROUP BY …)

CREATE TABLE n AS SELECT item, COUNT(DISTINCT amont) AS n FROM orders GROUP BY item;
-- → line 1:47: SELECT column 'AMONT' cannot be resolved.
-- →   hint: did you mean AMOUNT?

CREATE STREAM n AS SELECT id, COUNT(DISTINCT amount) AS n FROM orders;
-- → line 1:31: aggregate function COUNT without a GROUP BY clause
-- →   hint: group by an expression; a constant puts all rows in one group

CREATE TABLE n AS SELECT item, COUNT(*) FILTER (WHERE amount > 3) AS large, COUNT(DISTINCT id) FILTER (WHERE amount > 3) AS ids, COUNT(DISTINCT id) AS all_ids FROM orders GROUP BY item;
-- → Created query with ID CTAS_N_0
-- → create topic N with 2 partition(s)
-- → start query CTAS_N_0
-- → N (ITEM STRING KEY, LARGE BIGINT, IDS BIGINT, ALL_IDS BIGINT)
-- → Write TABLE N to topic N (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) FILTER (WHERE AMOUNT > 3) AS LARGE, COUNT(DISTINCT ID) FILTER (WHERE AMOUNT > 3) AS IDS, COUNT(DISTINCT ID) AS ALL_IDS
-- →     Group by ITEM: COUNT(*) FILTER (WHERE AMOUNT > 3), COUNT(DISTINCT ID) FILTER (WHERE AMOUNT > 3), COUNT(DISTINCT ID)
-- →       Each value once in its group: CASE WHEN AMOUNT > 3 THEN ID END, ID
-- →         Select ID KEY, ITEM, AMOUNT > 3 AS `AMOUNT > 3`, CASE WHEN AMOUNT > 3 THEN ID END AS `CASE WHEN AMOUNT > 3 THEN ID END`, ID
-- →           Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE TABLE n AS SELECT item, COUNT(*) filter FROM orders GROUP BY item;
-- → Created query with ID CTAS_N_0
-- → create topic N with 2 partition(s)
-- → start query CTAS_N_0
-- → N (ITEM STRING KEY, FILTER BIGINT)
-- → Write TABLE N to topic N (key KAFKA, value JSON)
-- →   Select ITEM KEY, COUNT(*) AS FILTER
-- →     Group by ITEM: COUNT(*)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

CREATE TABLE n AS SELECT item, COLLECT_LIST(DISTINCT amount) FILTER (WHERE amount > 3) AS n FROM orders GROUP BY item;
-- → line 1:32: DISTINCT with FILTER is for COUNT, SUM, AVG, MIN and MAX
-- →   hint: a WHERE in an inner query

CREATE TABLE n AS SELECT item, COUNT(*) FILTER (WHERE amount) AS n FROM orders GROUP BY item;
-- → line 1:55: Type error in FILTER expression: Should evaluate to boolean but is AMOUNT (INTEGER) instead.

CREATE TABLE n AS SELECT item, COUNT(*) FILTER (WHERE amont > 3) AS n FROM orders GROUP BY item;
-- → line 1:55: Error in FILTER expression: FILTER column 'AMONT' cannot be resolved.
-- →   hint: did you mean AMOUNT?

CREATE TABLE n AS SELECT item, COUNT(*) FILTER (WHERE amount > 'x') AS n FROM orders GROUP BY item;
-- → line 1:55: Error in FILTER expression: Cannot compare AMOUNT (INTEGER) to 'x' (STRING) with GREATER_THAN.
-- →   hint: CAST one to the other's type

CREATE TABLE n AS SELECT item, COUNT(*) FILTER (WHERE COUNT(*) > 3) AS n FROM orders GROUP BY item;
-- → line 1:55: Aggregate functions can not be nested: COUNT(COUNT())
-- →   hint: group a first time in an inner query: FROM (SELECT … GROUP BY …)

CREATE TABLE n AS SELECT item, UCASE(item) FILTER (WHERE amount > 3) AS n, COUNT(*) FROM orders GROUP BY item;
-- → line 1:32: FILTER applies only to aggregate functions, and UCASE is not one

CREATE TABLE n AS SELECT item, COUNT(*) FILTER (amount > 3) AS n FROM orders GROUP BY item;
-- → line 1:48: unexpected '('; expected ',' or FROM
-- →   hint: the rows of an aggregate: COUNT(*) FILTER (WHERE v > 3)

CREATE TABLE n AS SELECT item, MIN(DISTINCT amount) AS n FROM orders WINDOW SESSION (1 HOUR) GROUP BY item;
-- → Created query with ID CTAS_N_0
-- → create topic N with 2 partition(s)
-- → start query CTAS_N_0
-- → N (ITEM STRING KEY, N INTEGER)
-- → Write TABLE N to topic N (key KAFKA, value JSON)
-- →   Select ITEM KEY, MIN(DISTINCT AMOUNT) AS N
-- →     Group by ITEM in SESSION windows of 3600000 ms, grace 82800000 ms, emitted at each row: MIN(DISTINCT AMOUNT)
-- →       Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
