--@test: distinct - of equal rows the first is written
CREATE STREAM a (id STRING KEY, v INT, m DOUBLE) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE STREAM o AS SELECT DISTINCT id, v, m FROM a WHERE v > 0;
INSERT INTO a (id, v, m) VALUES ('x', 1, NULL);
INSERT INTO a (id, v, m) VALUES ('x', 0, NULL);
INSERT INTO a (id, v, m) VALUES ('x', 2, 1.5);
INSERT INTO a (id, v, m) VALUES ('x', 1, NULL);
INSERT INTO a (id, v, m) VALUES ('y', 1, NULL);
INSERT INTO a (id, v, m) VALUES ('x', 2, 1.50);
INSERT INTO a (id, v, m) VALUES ('x', 2, 1.25);
ASSERT VALUES o (id, v, m) VALUES ('x', 1, NULL);
ASSERT VALUES o (id, v, m) VALUES ('x', 2, 1.5);
ASSERT VALUES o (id, v, m) VALUES ('y', 1, NULL);
ASSERT VALUES o (id, v, m) VALUES ('x', 2, 1.25);

--@test: distinct - a row comes again after STATE_TTL without it
CREATE STREAM a (id STRING KEY, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE STREAM o WITH (state_ttl='10 SECONDS') AS SELECT DISTINCT id, v FROM a;
INSERT INTO a (ROWTIME, id, v) VALUES (0, 'x', 1);
INSERT INTO a (ROWTIME, id, v) VALUES (9000, 'x', 1);
INSERT INTO a (ROWTIME, id, v) VALUES (18000, 'x', 1);
INSERT INTO a (ROWTIME, id, v) VALUES (18000, 'x', 2);
INSERT INTO a (ROWTIME, id, v) VALUES (28100, 'x', 1);
INSERT INTO a (ROWTIME, id, v) VALUES (28200, 'x', 2);
ASSERT VALUES o (ROWTIME, id, v) VALUES (0, 'x', 1);
ASSERT VALUES o (ROWTIME, id, v) VALUES (18000, 'x', 2);
ASSERT VALUES o (ROWTIME, id, v) VALUES (28100, 'x', 1);
ASSERT VALUES o (ROWTIME, id, v) VALUES (28200, 'x', 2);

--@test: distinct - values of a column, under it as the key, and counted
CREATE STREAM a (id STRING KEY, city STRING, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE STREAM o AS SELECT city, AS_VALUE(city) AS name FROM (SELECT DISTINCT city FROM a) PARTITION BY city;
CREATE TABLE n AS SELECT city, COUNT(*) AS ids FROM (SELECT DISTINCT id, city FROM a) GROUP BY city;
INSERT INTO a (id, city, v) VALUES ('1', 'x', 1);
INSERT INTO a (id, city, v) VALUES ('2', 'x', 1);
INSERT INTO a (id, city, v) VALUES ('1', 'x', 2);
INSERT INTO a (id, city, v) VALUES ('3', 'y', 2);
ASSERT VALUES o (city, name) VALUES ('x', 'x');
ASSERT VALUES o (city, name) VALUES ('y', 'y');
ASSERT VALUES n (city, ids) VALUES ('x', 1);
ASSERT VALUES n (city, ids) VALUES ('x', 2);
ASSERT VALUES n (city, ids) VALUES ('y', 1);

--@test: distinct - a UNION without ALL, and nested values
CREATE STREAM a (id STRING KEY, v ARRAY<STRING>, s STRUCT<x INT>) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE STREAM b (id STRING KEY, v ARRAY<STRING>, s STRUCT<x INT>) WITH (kafka_topic='b', value_format='JSON', partitions=1);
CREATE STREAM o AS SELECT id, v, s FROM a UNION SELECT id, v, s FROM b;
INSERT INTO a (id, v, s) VALUES ('1', ARRAY['x', NULL], STRUCT(x := 1));
INSERT INTO b (id, v, s) VALUES ('1', ARRAY['x', NULL], STRUCT(x := 1));
INSERT INTO b (id, v, s) VALUES ('1', ARRAY['x'], STRUCT(x := 1));
INSERT INTO b (id, v, s) VALUES ('1', ARRAY['x'], NULL);
ASSERT VALUES o (id, v, s) VALUES ('1', ARRAY['x', NULL], STRUCT(x := 1));
ASSERT VALUES o (id, v, s) VALUES ('1', ARRAY['x'], STRUCT(x := 1));
ASSERT VALUES o (id, v, s) VALUES ('1', ARRAY['x'], NULL);

--@test: inner queries - a join that is grouped is an inner query
CREATE STREAM a (id INT KEY, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE TABLE t (id INT PRIMARY KEY, w INT) WITH (kafka_topic='t', value_format='JSON', partitions=1);
CREATE TABLE o AS SELECT s, COUNT(*) AS n FROM (SELECT w, SUM(v) AS s FROM a JOIN t ON a.id = t.id GROUP BY w) GROUP BY s;
INSERT INTO t (id, w) VALUES (1, 10);
INSERT INTO t (id, w) VALUES (2, 20);
INSERT INTO a (id, v) VALUES (1, 5);
INSERT INTO a (id, v) VALUES (2, 5);
ASSERT VALUES o (s, n) VALUES (5, 1);
ASSERT VALUES o (s, n) VALUES (5, 2);

--@test: distinct - values of all types, and rows without a key or a value
CREATE STREAM a (id STRING KEY, t TIME, d DATE, ts TIMESTAMP, b BYTES, n DECIMAL(5, 2), bo BOOLEAN, st STRUCT<x INT, y ARRAY<DOUBLE>>) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE STREAM o AS SELECT DISTINCT * FROM a;
INSERT INTO a (id, t, d, ts, b, n, bo, st) VALUES ('k', '10:00:00.001', '2024-01-01', '2024-01-01T00:00:00.001', TO_BYTES('ab', 'ascii'), 1.50, true, STRUCT(x := 1, y := ARRAY[1.5]));
INSERT INTO a (id, t, d, ts, b, n, bo, st) VALUES ('k', '10:00:00.001', '2024-01-01', '2024-01-01T00:00:00.001', TO_BYTES('ab', 'ascii'), 1.5, true, STRUCT(x := 1, y := ARRAY[1.5]));
INSERT INTO a (id, t, d, ts, b, n, bo, st) VALUES ('k', '10:00:00.002', '2024-01-01', '2024-01-01T00:00:00.001', TO_BYTES('ab', 'ascii'), 1.50, true, STRUCT(x := 1, y := ARRAY[1.5]));
INSERT INTO a (id, t, d, ts, b, n, bo, st) VALUES ('k', '10:00:00.002', '2024-01-02', '2024-01-01T00:00:00.001', TO_BYTES('ab', 'ascii'), 1.50, true, STRUCT(x := 1, y := ARRAY[1.5]));
INSERT INTO a (id, t, d, ts, b, n, bo, st) VALUES ('k', '10:00:00.002', '2024-01-02', '2024-01-01T00:00:00.002', TO_BYTES('ab', 'ascii'), 1.50, true, STRUCT(x := 1, y := ARRAY[1.5]));
INSERT INTO a (id, t, d, ts, b, n, bo, st) VALUES ('k', '10:00:00.002', '2024-01-02', '2024-01-01T00:00:00.002', TO_BYTES('ac', 'ascii'), 1.50, true, STRUCT(x := 1, y := ARRAY[1.5]));
INSERT INTO a (id, bo) VALUES (NULL, true);
INSERT INTO a (id, bo) VALUES (NULL, true);
INSERT INTO a (id, bo) VALUES (NULL, false);
ASSERT VALUES o (id, t, d, ts, b, n, bo, st) VALUES ('k', '10:00:00.001', '2024-01-01', '2024-01-01T00:00:00.001', TO_BYTES('ab', 'ascii'), 1.50, true, STRUCT(x := 1, y := ARRAY[1.5]));
ASSERT VALUES o (id, t, d, ts, b, n, bo, st) VALUES ('k', '10:00:00.002', '2024-01-01', '2024-01-01T00:00:00.001', TO_BYTES('ab', 'ascii'), 1.50, true, STRUCT(x := 1, y := ARRAY[1.5]));
ASSERT VALUES o (id, t, d, ts, b, n, bo, st) VALUES ('k', '10:00:00.002', '2024-01-02', '2024-01-01T00:00:00.001', TO_BYTES('ab', 'ascii'), 1.50, true, STRUCT(x := 1, y := ARRAY[1.5]));
ASSERT VALUES o (id, t, d, ts, b, n, bo, st) VALUES ('k', '10:00:00.002', '2024-01-02', '2024-01-01T00:00:00.002', TO_BYTES('ab', 'ascii'), 1.50, true, STRUCT(x := 1, y := ARRAY[1.5]));
ASSERT VALUES o (id, t, d, ts, b, n, bo, st) VALUES ('k', '10:00:00.002', '2024-01-02', '2024-01-01T00:00:00.002', TO_BYTES('ac', 'ascii'), 1.50, true, STRUCT(x := 1, y := ARRAY[1.5]));
ASSERT VALUES o (id, bo) VALUES (NULL, true);
ASSERT VALUES o (id, bo) VALUES (NULL, false);
