--@test: views - a stream's rows through two views
CREATE STREAM a (id STRING KEY, v INT, m DOUBLE) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE VIEW large AS SELECT id, v * 10 AS tens FROM a WHERE v > 1;
CREATE VIEW largest AS SELECT * FROM large WHERE tens > 20 EMIT CHANGES;
CREATE STREAM o AS SELECT id, l.tens + 1 AS x FROM largest l;
CREATE TABLE n AS SELECT id, COUNT(*) AS n, SUM(tens) AS s FROM large GROUP BY id;
INSERT INTO a (id, v, m) VALUES ('x', 1, 0.5);
INSERT INTO a (id, v, m) VALUES ('x', 2, 0.5);
INSERT INTO a (id, v, m) VALUES ('x', 3, 0.5);
ASSERT VALUES o (id, x) VALUES ('x', 31);
ASSERT VALUES n (id, n, s) VALUES ('x', 1, 20);
ASSERT VALUES n (id, n, s) VALUES ('x', 2, 50);

--@test: views - a table's rows leave a view, and a group over it
CREATE TABLE t (id STRING PRIMARY KEY, city STRING, v INT) WITH (kafka_topic='t', value_format='JSON', partitions=1);
CREATE VIEW rich AS SELECT id, city FROM t WHERE v > 10;
CREATE TABLE o AS SELECT city, COUNT(*) AS n FROM rich GROUP BY city;
INSERT INTO t (id, city, v) VALUES ('1', 'x', 11);
INSERT INTO t (id, city, v) VALUES ('2', 'x', 12);
INSERT INTO t (id, city, v) VALUES ('1', 'x', 10);
ASSERT VALUES o (city, n) VALUES ('x', 1);
ASSERT VALUES o (city, n) VALUES ('x', 2);
ASSERT VALUES o (city, n) VALUES ('x', 1);

--@test: views - a join of a view, and INSERT INTO from a union of views
CREATE STREAM a (id STRING KEY, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE TABLE names (id STRING PRIMARY KEY, name STRING) WITH (kafka_topic='names', value_format='JSON', partitions=1);
CREATE VIEW small AS SELECT id, v FROM a WHERE v < 10;
CREATE VIEW large AS SELECT id, v FROM a WHERE v > 100;
CREATE VIEW outliers AS SELECT * FROM small UNION ALL SELECT * FROM large;
CREATE STREAM o AS SELECT s.id AS id, name, v FROM small s JOIN names n ON s.id = n.id;
CREATE STREAM both (id STRING KEY, v INT) WITH (kafka_topic='both', value_format='JSON', partitions=1);
INSERT INTO both SELECT id, v FROM outliers;
INSERT INTO names (ROWTIME, id, name) VALUES (0, 'x', 'ann');
INSERT INTO a (ROWTIME, id, v) VALUES (1, 'x', 5);
INSERT INTO a (ROWTIME, id, v) VALUES (2, 'x', 50);
INSERT INTO a (ROWTIME, id, v) VALUES (3, 'x', 500);
ASSERT VALUES o (id, name, v) VALUES ('x', 'ann', 5);
ASSERT VALUES both (id, v) VALUES ('x', 5);
ASSERT VALUES both (id, v) VALUES ('x', 500);

--@test: views - a query goes on as it was created when its view is replaced
CREATE STREAM a (id STRING KEY, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE VIEW large AS SELECT id, v FROM a WHERE v > 10;
CREATE STREAM before AS SELECT * FROM large;
CREATE OR REPLACE VIEW large AS SELECT id, v FROM a WHERE v > 20;
CREATE STREAM after AS SELECT * FROM large;
INSERT INTO a (id, v) VALUES ('x', 15);
INSERT INTO a (id, v) VALUES ('y', 25);
ASSERT VALUES before (id, v) VALUES ('x', 15);
ASSERT VALUES before (id, v) VALUES ('y', 25);
ASSERT VALUES after (id, v) VALUES ('y', 25);

--@test: views - a view that queries read is not dropped
--@expected.error: io.confluent.ksql.util.KsqlException
--@expected.message: Cannot drop view LARGE: it is read by CSAS_O_0
CREATE STREAM a (id STRING KEY, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE VIEW large AS SELECT id, v FROM a WHERE v > 10;
CREATE STREAM o AS SELECT * FROM large;
DROP VIEW large;
