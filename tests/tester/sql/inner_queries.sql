--@test: inner queries - WHERE on what an inner query computes
CREATE STREAM a (id STRING KEY, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE STREAM o AS SELECT id, w + 1 AS x FROM (SELECT id, v * 2 AS w FROM a WHERE v > 0) WHERE w < 10;
INSERT INTO a (id, v) VALUES ('a', -1);
INSERT INTO a (id, v) VALUES ('b', 3);
INSERT INTO a (id, v) VALUES ('c', 30);
ASSERT VALUES o (id, x) VALUES ('b', 7);
ASSERT STREAM o (id STRING KEY, x INT) WITH (kafka_topic='O', value_format='JSON');

--@test: inner queries - the elements of an array are grouped
CREATE STREAM a (id STRING KEY, items ARRAY<STRING>) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE TABLE o AS SELECT item, COUNT(*) AS n FROM (SELECT EXPLODE(items) AS item FROM a) GROUP BY item;
INSERT INTO a (id, items) VALUES ('a', ARRAY['x', 'y']);
INSERT INTO a (id, items) VALUES ('b', ARRAY['x']);
ASSERT VALUES o (item, n) VALUES ('x', 1);
ASSERT VALUES o (item, n) VALUES ('y', 1);
ASSERT VALUES o (item, n) VALUES ('x', 2);

--@test: inner queries - WITH, twice, and PARTITION BY inside and outside
CREATE STREAM a (id STRING KEY, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE STREAM o AS WITH w AS (SELECT v, id FROM a PARTITION BY v), x AS (SELECT v + 1 AS u, id FROM w)
  SELECT * FROM x PARTITION BY u;
INSERT INTO a (id, v) VALUES ('a', 1);
ASSERT VALUES o (u, id) VALUES (2, 'a');
ASSERT STREAM o (u INT KEY, id STRING) WITH (kafka_topic='O', key_format='KAFKA', value_format='JSON');

--@test: inner queries - UNION ALL of streams
CREATE STREAM a (id STRING KEY, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE STREAM b (id STRING KEY, w BIGINT, x STRING) WITH (kafka_topic='b', value_format='JSON', partitions=1);
CREATE STREAM o AS SELECT id, v FROM a UNION ALL SELECT id, w FROM b WHERE x IS NOT NULL;
INSERT INTO a (id, v) VALUES ('a', 1);
INSERT INTO b (id, w, x) VALUES ('b', 2, 'x');
INSERT INTO b (id, w, x) VALUES ('c', 2, NULL);
INSERT INTO a (id, v) VALUES ('d', 4);
ASSERT VALUES o (id, v) VALUES ('a', 1);
ASSERT VALUES o (id, v) VALUES ('b', 2);
ASSERT VALUES o (id, v) VALUES ('d', 4);
ASSERT STREAM o (id STRING KEY, v BIGINT) WITH (kafka_topic='O', value_format='JSON');

--@test: inner queries - a union whose branches have other keys is grouped
CREATE STREAM a (id STRING KEY, item STRING) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE STREAM b (item STRING KEY, v INT) WITH (kafka_topic='b', value_format='JSON', partitions=1);
CREATE TABLE o AS SELECT item, COUNT(*) AS n FROM (SELECT item FROM a UNION ALL SELECT item FROM b) GROUP BY item;
INSERT INTO a (id, item) VALUES ('1', 'x');
INSERT INTO b (item, v) VALUES ('x', 2);
INSERT INTO b (item, v) VALUES ('y', 2);
ASSERT VALUES o (item, n) VALUES ('x', 1);
ASSERT VALUES o (item, n) VALUES ('x', 2);
ASSERT VALUES o (item, n) VALUES ('y', 1);

--@test: inner queries - a union in windows, with ROWTIME
CREATE STREAM a (id STRING KEY, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE STREAM b (id STRING KEY, v INT) WITH (kafka_topic='b', value_format='JSON', partitions=1);
CREATE TABLE o AS SELECT id, SUM(v) AS s, MAX(t) AS t FROM (SELECT id, v, ROWTIME AS t FROM a UNION ALL SELECT id, -v, ROWTIME FROM b)
  WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY id;
INSERT INTO a (ROWTIME, id, v) VALUES (1000, 'x', 1);
INSERT INTO b (ROWTIME, id, v) VALUES (12000, 'x', 5);
INSERT INTO a (ROWTIME, id, v) VALUES (2000, 'x', 100);
INSERT INTO a (ROWTIME, id, v) VALUES (13000, 'x', 1);
ASSERT VALUES o (id, windowstart, windowend, s, t) VALUES ('x', 0, 10000, 1, 1000);
ASSERT VALUES o (id, windowstart, windowend, s, t) VALUES ('x', 10000, 20000, -5, 12000);
ASSERT VALUES o (id, windowstart, windowend, s, t) VALUES ('x', 10000, 20000, -4, 13000);

--@test: inner queries - a stream-table join over what an inner query computes
CREATE STREAM a (id STRING KEY, place STRING) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE TABLE t (place STRING PRIMARY KEY, city STRING) WITH (kafka_topic='t', value_format='JSON', partitions=1);
CREATE STREAM o AS SELECT p, id, city FROM (SELECT id, UCASE(place) AS p FROM a WHERE place <> 'no') i JOIN t ON i.p = t.place;
INSERT INTO t (place, city) VALUES ('X', 'Xanten');
INSERT INTO t (place, city) VALUES ('NO', 'Oslo');
INSERT INTO a (id, place) VALUES ('1', 'x');
INSERT INTO a (id, place) VALUES ('2', 'no');
INSERT INTO a (id, place) VALUES ('3', 'q');
ASSERT VALUES o (p, id, city) VALUES ('X', '1', 'Xanten');

--@test: inner queries - two inner queries joined within a window
CREATE STREAM a (id INT KEY, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE STREAM b (id INT KEY, v INT) WITH (kafka_topic='b', value_format='JSON', partitions=1);
CREATE STREAM o AS SELECT l.id AS id, l.v AS l, r.v AS r FROM (SELECT id, v + 1 AS v FROM a WHERE v > 0) l
  LEFT JOIN (SELECT id, v FROM b WHERE v > 10) r WITHIN 1 SECOND ON l.id = r.id;
INSERT INTO b (ROWTIME, id, v) VALUES (1, 1, 5);
INSERT INTO b (ROWTIME, id, v) VALUES (1, 2, 50);
INSERT INTO a (ROWTIME, id, v) VALUES (2, 1, 1);
INSERT INTO a (ROWTIME, id, v) VALUES (2, 2, 1);
INSERT INTO a (ROWTIME, id, v) VALUES (2, 2, 0);
ASSERT VALUES o (id, l, r) VALUES (1, 2, NULL);
ASSERT VALUES o (id, l, r) VALUES (2, 2, 50);

--@test: inner queries - a join as an inner query
CREATE STREAM a (id INT KEY, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE TABLE t (id INT PRIMARY KEY, w INT) WITH (kafka_topic='t', value_format='JSON', partitions=1);
CREATE TABLE o AS SELECT u, SUM(v) AS s FROM (SELECT v, w * 2 AS u FROM a JOIN t ON a.id = t.id) WHERE u < 100 GROUP BY u;
CREATE STREAM p AS SELECT id, v FROM (SELECT a.id AS id, v, w FROM a JOIN t ON a.id = t.id) WHERE w < 100;
INSERT INTO t (id, w) VALUES (1, 10);
INSERT INTO t (id, w) VALUES (2, 10);
INSERT INTO t (id, w) VALUES (3, 1000);
INSERT INTO a (id, v) VALUES (1, 1);
INSERT INTO a (id, v) VALUES (2, 2);
INSERT INTO a (id, v) VALUES (3, 3);
ASSERT VALUES o (u, s) VALUES (20, 1);
ASSERT VALUES o (u, s) VALUES (20, 3);
ASSERT VALUES p (id, v) VALUES (1, 1);
ASSERT VALUES p (id, v) VALUES (2, 2);

--@test: inner queries - a row that an inner query cannot compute is reported once
CREATE STREAM a (id INT KEY, v STRING) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE STREAM o AS SELECT id, n, n + 1 AS m FROM (SELECT id, CAST(v AS INT) AS n FROM a) WHERE n > 0 OR n IS NULL;
INSERT INTO a (id, v) VALUES (1, 'x');
INSERT INTO a (id, v) VALUES (2, '5');
ASSERT VALUES o (id, n, m) VALUES (1, NULL, NULL);
ASSERT VALUES o (id, n, m) VALUES (2, 5, 6);

--@test: inner queries - the sink's key has to be selected
--@expected.error: io.confluent.ksql.util.KsqlException
--@expected.message: must include the key column ID in its projection
CREATE STREAM a (id INT KEY, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE STREAM o AS SELECT v FROM (SELECT v FROM a);

--@test: inner queries - WHERE and GROUP BY over the groups of an inner query
CREATE STREAM a (id STRING KEY, city STRING) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE TABLE busy AS SELECT city, n * 10 AS tens FROM (SELECT city, COUNT(*) AS n FROM a GROUP BY city) WHERE n > 1 AND n < 3;
CREATE TABLE sizes AS SELECT n, COUNT(*) AS cities FROM (SELECT city, COUNT(*) AS n FROM a GROUP BY city) GROUP BY n;
INSERT INTO a (id, city) VALUES ('1', 'x');
INSERT INTO a (id, city) VALUES ('2', 'x');
INSERT INTO a (id, city) VALUES ('3', 'y');
INSERT INTO a (id, city) VALUES ('4', 'x');
ASSERT VALUES busy (city, tens) VALUES ('x', 20);
ASSERT NULL VALUES busy (city) KEY ('x');
ASSERT VALUES sizes (n, cities) VALUES (1, 1);
ASSERT VALUES sizes (n, cities) VALUES (1, 0);
ASSERT VALUES sizes (n, cities) VALUES (2, 1);
ASSERT VALUES sizes (n, cities) VALUES (1, 1);
ASSERT VALUES sizes (n, cities) VALUES (2, 0);
ASSERT VALUES sizes (n, cities) VALUES (3, 1);

--@test: inner queries - over a table
CREATE TABLE t (id STRING PRIMARY KEY, v INT, w INT) WITH (kafka_topic='t', value_format='JSON', partitions=1);
CREATE TABLE o AS SELECT id, v + 1 AS x FROM (SELECT id, v, w FROM t WHERE v > 0) WHERE w > 0;
CREATE TABLE p AS SELECT w, SUM(u) AS s FROM (SELECT id, w, v * 2 AS u FROM t WHERE v > 0) GROUP BY w;
INSERT INTO t (id, v, w) VALUES ('a', 1, 1);
INSERT INTO t (id, v, w) VALUES ('a', 2, 1);
INSERT INTO t (id, v, w) VALUES ('b', 2, 1);
INSERT INTO t (id, v, w) VALUES ('a', 2, 0);
INSERT INTO t (id, v, w) VALUES ('b', 0, 0);
ASSERT VALUES o (id, x) VALUES ('a', 2);
ASSERT VALUES o (id, x) VALUES ('a', 3);
ASSERT VALUES o (id, x) VALUES ('b', 3);
ASSERT NULL VALUES o (id) KEY ('a');
ASSERT NULL VALUES o (id) KEY ('b');
ASSERT VALUES p (w, s) VALUES (1, 2);
ASSERT VALUES p (w, s) VALUES (1, 4);
ASSERT VALUES p (w, s) VALUES (1, 8);
ASSERT VALUES p (w, s) VALUES (1, 4);
ASSERT VALUES p (w, s) VALUES (0, 4);
ASSERT VALUES p (w, s) VALUES (1, 0);

--@test: inner queries - a join of tables, filtered and grouped
CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='JSON', partitions=1);
CREATE TABLE u (id INT PRIMARY KEY, w INT) WITH (kafka_topic='u', value_format='JSON', partitions=1);
CREATE TABLE o AS SELECT w, COUNT(*) AS n FROM (SELECT t.id AS id, v, w FROM t JOIN u ON t.id = u.id) WHERE v > 0 GROUP BY w;
INSERT INTO u (id, w) VALUES (1, 7);
INSERT INTO t (id, v) VALUES (1, 1);
INSERT INTO u (id, w) VALUES (2, 7);
INSERT INTO t (id, v) VALUES (2, 1);
INSERT INTO t (id, v) VALUES (1, 0);
ASSERT VALUES o (w, n) VALUES (7, 1);
ASSERT VALUES o (w, n) VALUES (7, 2);
ASSERT VALUES o (w, n) VALUES (7, 1);

--@test: inner queries - a stream joins what an inner query selects of a table
CREATE STREAM a (id INT KEY, who INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE TABLE t (id INT PRIMARY KEY, name STRING) WITH (kafka_topic='t', value_format='JSON', partitions=1);
CREATE STREAM o AS SELECT who, a.id AS id, loud FROM a LEFT JOIN (SELECT id, UCASE(name) AS loud FROM t) p ON a.who = p.id;
INSERT INTO t (id, name) VALUES (1, 'ann');
INSERT INTO a (id, who) VALUES (10, 1);
INSERT INTO a (id, who) VALUES (11, 2);
ASSERT VALUES o (who, id, loud) VALUES (1, 10, 'ANN');
ASSERT VALUES o (who, id, loud) VALUES (2, 11, NULL);

--@test: inner queries - of a windowed stream, grouped again by its window
CREATE STREAM a (id STRING KEY, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE TABLE w AS SELECT id, COUNT(*) AS n FROM a WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY id;
CREATE STREAM ws (id STRING KEY, n BIGINT) WITH (kafka_topic='W', value_format='JSON', window_type='TUMBLING', window_size='10 SECONDS');
CREATE STREAM o AS SELECT id, start, n FROM (SELECT id, WINDOWSTART AS start, n FROM ws WHERE n > 0) WHERE WINDOWEND = 20000;
INSERT INTO a (ROWTIME, id, v) VALUES (1000, 'x', 1);
INSERT INTO a (ROWTIME, id, v) VALUES (11000, 'x', 1);
ASSERT VALUES o (id, windowstart, windowend, start, n) VALUES ('x', 10000, 20000, 10000, 1);

--@test: inner queries - tables of inner queries are joined
CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='JSON', partitions=1);
CREATE TABLE u (id INT PRIMARY KEY, w INT) WITH (kafka_topic='u', value_format='JSON', partitions=1);
CREATE TABLE o AS SELECT x.id AS id, vv, ww FROM (SELECT id, v + 1 AS vv FROM t) x LEFT JOIN (SELECT id, w + 1 AS ww FROM u) y ON x.id = y.id WHERE vv > 0;
CREATE TABLE f AS SELECT x.id AS id, ww FROM (SELECT id, v + 1 AS vv FROM t) x JOIN (SELECT id, w + 1 AS ww FROM u) y ON x.vv = y.id;
INSERT INTO t (id, v) VALUES (1, 1);
INSERT INTO u (id, w) VALUES (2, 2);
INSERT INTO u (id, w) VALUES (1, 2);
ASSERT VALUES o (id, vv, ww) VALUES (1, 2, NULL);
ASSERT VALUES o (id, vv, ww) VALUES (1, 2, 3);
ASSERT VALUES f (id, ww) VALUES (1, 3);

--@test: inner queries - four levels, with the names of each
CREATE STREAM a (id STRING KEY, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE STREAM o AS SELECT * FROM (SELECT x.id AS id, x.v + 1 AS v FROM (SELECT y.id AS id, y.v * 2 AS v FROM (SELECT * FROM (SELECT id, v FROM a WHERE ROWTIME > 5) z) y) x);
INSERT INTO a (ROWTIME, id, v) VALUES (5, 'no', 1);
INSERT INTO a (ROWTIME, id, v) VALUES (6, 'x', 1);
ASSERT VALUES o (ROWTIME, id, v) VALUES (6, 'x', 3);

--@test: inner queries - null rows and HAVING
CREATE STREAM a (id STRING KEY, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE TABLE o AS SELECT id, s + 1 AS s FROM (SELECT id, SUM(v) AS s FROM a GROUP BY id HAVING SUM(v) > 1) WHERE s < 10;
INSERT INTO a (id, v) VALUES ('x', 1);
INSERT INTO a (id, v) VALUES ('x', 1);
INSERT INTO a (id, v) VALUES ('x', 10);
INSERT INTO a (id, v) VALUES ('x', -12);
ASSERT VALUES o (id, s) VALUES ('x', 3);
ASSERT NULL VALUES o (id) KEY ('x');

--@test: inner queries - the branches of a union are nested
CREATE STREAM a (id STRING KEY, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE STREAM b (id STRING KEY, v INT) WITH (kafka_topic='b', value_format='AVRO', partitions=1);
CREATE STREAM c (id STRING KEY, v DOUBLE) WITH (kafka_topic='c', value_format='DELIMITED', partitions=1);
CREATE STREAM o AS SELECT id, v FROM a UNION ALL (SELECT id, v FROM b UNION ALL SELECT id, v FROM c WHERE v > 1);
INSERT INTO a (id, v) VALUES ('a', 1);
INSERT INTO b (id, v) VALUES ('b', 2);
INSERT INTO c (id, v) VALUES ('c', 3.5);
INSERT INTO c (id, v) VALUES ('c', 0.5);
ASSERT VALUES o (id, v) VALUES ('a', 1.0);
ASSERT VALUES o (id, v) VALUES ('b', 2.0);
ASSERT VALUES o (id, v) VALUES ('c', 3.5);
ASSERT STREAM o (id STRING KEY, v DOUBLE) WITH (kafka_topic='O', value_format='JSON');

--@test: inner queries - the windows that have closed are grouped by their start
CREATE STREAM bid (id INT KEY, auction STRING) WITH (kafka_topic='bid', value_format='JSON', partitions=1);
CREATE TABLE hottest AS SELECT WINDOWSTART AS starts, MAX(n) AS most, COUNT(*) AS auctions
  FROM (SELECT auction, COUNT(*) AS n FROM bid WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY auction EMIT FINAL)
  GROUP BY WINDOWSTART;
INSERT INTO bid (ROWTIME, id, auction) VALUES (1000, 1, 'x');
INSERT INTO bid (ROWTIME, id, auction) VALUES (2000, 2, 'y');
INSERT INTO bid (ROWTIME, id, auction) VALUES (9000, 3, 'y');
INSERT INTO bid (ROWTIME, id, auction) VALUES (11000, 4, 'x');
INSERT INTO bid (ROWTIME, id, auction) VALUES (1500, 5, 'x');
INSERT INTO bid (ROWTIME, id, auction) VALUES (20000, 6, 'x');
ASSERT VALUES hottest (ROWTIME, starts, most, auctions) VALUES (1000, 0, 1, 1);
ASSERT VALUES hottest (ROWTIME, starts, most, auctions) VALUES (9000, 0, 2, 2);
ASSERT VALUES hottest (ROWTIME, starts, most, auctions) VALUES (11000, 10000, 1, 1);

--@test: inner queries - the windows that have closed are events of a stream with windows in its keys
CREATE STREAM a (id INT KEY, v STRING) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE STREAM o AS SELECT v, n, ends - begins AS ms FROM (
  SELECT v, COUNT(*) AS n, WINDOWSTART AS begins, WINDOWEND AS ends FROM a WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS, GRACE PERIOD 0 SECONDS)
  GROUP BY v HAVING COUNT(*) > 1 EMIT FINAL) WHERE v <> 'z';
INSERT INTO a (ROWTIME, id, v) VALUES (6000, 1, 'x');
INSERT INTO a (ROWTIME, id, v) VALUES (7000, 2, 'x');
INSERT INTO a (ROWTIME, id, v) VALUES (8000, 3, 'z');
INSERT INTO a (ROWTIME, id, v) VALUES (8000, 4, 'z');
INSERT INTO a (ROWTIME, id, v) VALUES (8000, 5, 'y');
INSERT INTO a (ROWTIME, id, v) VALUES (30000, 6, 'x');
ASSERT VALUES o (ROWTIME, v, windowstart, windowend, n, ms) VALUES (7000, 'x', 0, 10000, 2, 10000);
ASSERT VALUES o (ROWTIME, v, windowstart, windowend, n, ms) VALUES (7000, 'x', 5000, 15000, 2, 10000);
ASSERT STREAM o (v STRING KEY, n BIGINT, ms BIGINT) WITH (kafka_topic='O', value_format='JSON', window_type='HOPPING', window_size='10 SECONDS');

--@test: inner queries - sessions in windows, whose bounds are those of the outer query
CREATE STREAM a (id INT KEY, v STRING) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE TABLE o AS SELECT v, COUNT(*) AS sessions, SUM(n) AS n, SUM(ends - begins) AS ms, WINDOWSTART AS starts FROM (
  SELECT v, COUNT(*) AS n, WINDOWSTART AS begins, WINDOWEND AS ends FROM a WINDOW SESSION (2 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY v EMIT FINAL)
  WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY v EMIT FINAL;
INSERT INTO a (ROWTIME, id, v) VALUES (1000, 1, 'x');
INSERT INTO a (ROWTIME, id, v) VALUES (2000, 2, 'x');
INSERT INTO a (ROWTIME, id, v) VALUES (6000, 3, 'x');
INSERT INTO a (ROWTIME, id, v) VALUES (12000, 4, 'y');
INSERT INTO a (ROWTIME, id, v) VALUES (20000, 5, 'y');
INSERT INTO a (ROWTIME, id, v) VALUES (30000, 6, 'y');
ASSERT VALUES o (ROWTIME, v, windowstart, windowend, sessions, n, ms, starts) VALUES (6000, 'x', 0, 10000, 2, 3, 1000, 0);
ASSERT VALUES o (ROWTIME, v, windowstart, windowend, sessions, n, ms, starts) VALUES (12000, 'y', 10000, 20000, 1, 1, 0, 10000);
