--@test: joins by several columns - streams
CREATE STREAM a (id INT KEY, shop STRING, day INT, v STRING) WITH (kafka_topic='a', format='JSON', partitions=1);
CREATE STREAM b (id INT KEY, shop STRING, day INT, w STRING) WITH (kafka_topic='b', format='JSON', partitions=1);
CREATE STREAM o AS SELECT a.shop AS shop, a.day AS day, v, w FROM a LEFT JOIN b WITHIN 10 SECONDS GRACE PERIOD 0 SECONDS
  ON a.shop = b.shop AND b.day = a.day;
INSERT INTO a (ROWTIME, id, shop, day, v) VALUES (1000, 1, 'x', 1, 'a');
INSERT INTO b (ROWTIME, id, shop, day, w) VALUES (2000, 2, 'x', 2, 'other day');
INSERT INTO b (ROWTIME, id, shop, day, w) VALUES (3000, 3, 'y', 1, 'other shop');
INSERT INTO b (ROWTIME, id, shop, day, w) VALUES (4000, 4, 'x', 1, 'both');
INSERT INTO b (ROWTIME, id, shop, day, w) VALUES (5000, 5, 'z', NULL, 'no day');
INSERT INTO a (ROWTIME, id, shop, day, v) VALUES (6000, 1, 'z', NULL, 'equals nothing');
INSERT INTO a (ROWTIME, id, shop, day, v) VALUES (6000, 1, 'yx', 1, 'alone');
INSERT INTO a (ROWTIME, id, shop, day, v) VALUES (6000, 1, 'y', 11, 'alone');
INSERT INTO b (ROWTIME, id, shop, day, w) VALUES (60000, 6, 'q', 1, 'later');
INSERT INTO a (ROWTIME, id, shop, day, v) VALUES (60000, 6, 'p', 1, 'later');
ASSERT VALUES o (ROWTIME, shop, day, v, w) VALUES (4000, 'x', 1, 'a', 'both');
ASSERT VALUES o (ROWTIME, shop, day, v, w) VALUES (6000, 'y', 11, 'alone', NULL);
ASSERT VALUES o (ROWTIME, shop, day, v, w) VALUES (6000, 'yx', 1, 'alone', NULL);
ASSERT STREAM o (shop STRING KEY, day INT KEY, v STRING, w STRING) WITH (kafka_topic='O', format='JSON');

--@test: joins by several columns - a stream and a table, whose key columns are in another order
CREATE STREAM a (id INT KEY, shop STRING, day INT) WITH (kafka_topic='a', format='JSON', partitions=1);
CREATE TABLE t (day INT PRIMARY KEY, shop STRING PRIMARY KEY, name STRING) WITH (kafka_topic='t', format='JSON', partitions=1);
CREATE STREAM o AS SELECT t.day AS day, a.shop AS shop, id, name FROM a LEFT JOIN t ON a.shop = t.shop AND a.day = t.day;
INSERT INTO t (ROWTIME, day, shop, name) VALUES (0, 1, 'x', 'one');
INSERT INTO t (ROWTIME, day, shop, name) VALUES (0, 2, 'x', 'two');
INSERT INTO a (ROWTIME, id, shop, day) VALUES (10, 7, 'x', 2);
INSERT INTO a (ROWTIME, id, shop, day) VALUES (11, 8, 'y', 2);
INSERT INTO a (ROWTIME, id, shop, day) VALUES (12, 9, NULL, 2);
ASSERT VALUES o (day, shop, id, name) VALUES (2, 'x', 7, 'two');
ASSERT VALUES o (day, shop, id, name) VALUES (2, 'y', 8, NULL);
ASSERT STREAM o (day INT KEY, shop STRING KEY, id INT, name STRING) WITH (kafka_topic='O', format='JSON');

--@test: joins by several columns - a table that is grouped by two columns
CREATE STREAM a (id INT KEY, shop STRING, day INT) WITH (kafka_topic='a', format='JSON', partitions=1);
CREATE STREAM b (id INT KEY, shop STRING, day INT) WITH (kafka_topic='b', format='JSON', partitions=1);
CREATE TABLE n AS SELECT shop, day, COUNT(*) AS n FROM a GROUP BY shop, day;
CREATE STREAM o AS SELECT b.shop AS shop, b.day AS day, id, n FROM b JOIN n ON b.shop = n.shop AND b.day = n.day;
INSERT INTO a (ROWTIME, id, shop, day) VALUES (0, 1, 'x', 1);
INSERT INTO a (ROWTIME, id, shop, day) VALUES (1, 2, 'x', 1);
INSERT INTO a (ROWTIME, id, shop, day) VALUES (2, 3, 'x', 2);
INSERT INTO b (ROWTIME, id, shop, day) VALUES (10, 5, 'x', 1);
ASSERT VALUES o (shop, day, id, n) VALUES ('x', 1, 5, 2);

--@test: joins by several columns - tables whose keys have the columns in another order, with tombstones
CREATE TABLE t (day INT PRIMARY KEY, shop STRING PRIMARY KEY, v STRING) WITH (kafka_topic='t', format='JSON', partitions=1);
CREATE TABLE u (shop STRING PRIMARY KEY, day INT PRIMARY KEY, w STRING) WITH (kafka_topic='u', format='JSON', partitions=1);
CREATE TABLE o AS SELECT t.day AS day, u.shop AS shop, v, w FROM t JOIN u ON t.shop = u.shop AND t.day = u.day;
INSERT INTO t (ROWTIME, day, shop, v) VALUES (0, 1, 'x', 'a');
INSERT INTO t (ROWTIME, day, shop, v) VALUES (1, 2, 'x', 'b');
INSERT INTO u (ROWTIME, shop, day, w) VALUES (2, 'x', 2, 'c');
INSERT INTO t (ROWTIME, day, shop) VALUES (3, 2, 'x');
ASSERT VALUES o (ROWTIME, day, shop, v, w) VALUES (2, 2, 'x', 'b', 'c');
ASSERT VALUES o (ROWTIME, day, shop, v, w) VALUES (3, 2, 'x', NULL, 'c');
ASSERT TABLE o (shop STRING PRIMARY KEY, day INT PRIMARY KEY, v STRING, w STRING) WITH (kafka_topic='O', format='JSON');

--@test: joins by several columns - FULL JOIN of tables has a ROWKEY for each column
CREATE TABLE t (shop STRING PRIMARY KEY, day INT PRIMARY KEY, v STRING) WITH (kafka_topic='t', format='JSON', partitions=1);
CREATE TABLE u (shop STRING PRIMARY KEY, day INT PRIMARY KEY, w STRING) WITH (kafka_topic='u', format='JSON', partitions=1);
CREATE TABLE o AS SELECT ROWKEY AS shop, ROWKEY_1 AS day, v, w FROM t FULL JOIN u ON t.shop = u.shop AND t.day = u.day;
INSERT INTO t (ROWTIME, day, shop, v) VALUES (0, 1, 'x', 'a');
INSERT INTO u (ROWTIME, shop, day, w) VALUES (2, 'x', 2, 'c');
INSERT INTO u (ROWTIME, shop, day, w) VALUES (3, 'x', 1, 'd');
ASSERT VALUES o (shop, day, v, w) VALUES ('x', 1, 'a', NULL);
ASSERT VALUES o (shop, day, v, w) VALUES ('x', 2, NULL, 'c');
ASSERT VALUES o (shop, day, v, w) VALUES ('x', 1, 'a', 'd');

--@test: joins by several columns - a foreign key of two columns, of which one may be NULL
CREATE TABLE t (id INT PRIMARY KEY, shop STRING, day INT) WITH (kafka_topic='t', format='JSON', partitions=1);
CREATE TABLE u (day INT PRIMARY KEY, shop STRING PRIMARY KEY, w STRING) WITH (kafka_topic='u', format='JSON', partitions=1);
CREATE TABLE o AS SELECT t.id AS id, t.day AS day, w FROM t LEFT JOIN u ON t.shop = u.shop AND t.day = u.day;
INSERT INTO u (ROWTIME, shop, day, w) VALUES (0, 'x', 2, 'two');
INSERT INTO t (ROWTIME, id, shop, day) VALUES (1, 7, 'x', 2);
INSERT INTO t (ROWTIME, id, shop, day) VALUES (2, 8, 'x', NULL);
INSERT INTO t (ROWTIME, id, shop, day) VALUES (3, 7, 'x', 3);
INSERT INTO u (ROWTIME, shop, day, w) VALUES (4, 'x', 3, 'three');
INSERT INTO u (ROWTIME, shop, day, w) VALUES (5, 'x', 2, 'nobody looks it up');
INSERT INTO t (ROWTIME, id, shop, day) VALUES (6, 8, 'x', 3);
ASSERT VALUES o (ROWTIME, id, day, w) VALUES (1, 7, 2, 'two');
ASSERT VALUES o (ROWTIME, id, day, w) VALUES (2, 8, NULL, NULL);
ASSERT VALUES o (ROWTIME, id, day, w) VALUES (3, 7, 3, NULL);
ASSERT VALUES o (ROWTIME, id, day, w) VALUES (4, 7, 3, 'three');
ASSERT VALUES o (ROWTIME, id, day, w) VALUES (6, 8, 3, 'three');

--@test: joins by several columns - a chain of streams and tables
CREATE STREAM a (shop STRING KEY, day INT KEY, v STRING) WITH (kafka_topic='a', format='JSON', partitions=1);
CREATE STREAM b (shop STRING KEY, day INT KEY, w STRING) WITH (kafka_topic='b', format='JSON', partitions=1);
CREATE TABLE t (day INT PRIMARY KEY, shop STRING PRIMARY KEY, x STRING) WITH (kafka_topic='t', format='JSON', partitions=1);
CREATE TABLE u (shop STRING PRIMARY KEY, y STRING) WITH (kafka_topic='u', format='JSON', partitions=1);
CREATE STREAM o AS SELECT u.shop AS shop, a.day AS day, v, w, x, y FROM a JOIN b WITHIN 10 SECONDS ON a.shop = b.shop AND a.day = b.day
  JOIN t ON b.day = t.day AND a.shop = t.shop JOIN u ON t.shop = u.shop;
INSERT INTO t (ROWTIME, day, shop, x) VALUES (0, 1, 'p', 't');
INSERT INTO u (ROWTIME, shop, y) VALUES (0, 'p', 'u');
INSERT INTO a (ROWTIME, shop, day, v) VALUES (10, 'p', 1, 'a');
INSERT INTO b (ROWTIME, shop, day, w) VALUES (20, 'p', 1, 'b');
INSERT INTO b (ROWTIME, shop, day, w) VALUES (30, 'p', 2, 'b');
ASSERT VALUES o (shop, day, v, w, x, y) VALUES ('p', 1, 'a', 'b', 't', 'u');

--@test: joins by several columns - left keys of several columns whose bytes are alike look up one row
CREATE TABLE t (p STRING PRIMARY KEY, q STRING PRIMARY KEY, f INT) WITH (kafka_topic='t', format='JSON', partitions=1);
CREATE TABLE u (id INT PRIMARY KEY, w STRING) WITH (kafka_topic='u', format='JSON', partitions=1);
CREATE TABLE o AS SELECT p, q, f, w FROM t JOIN u ON t.f = u.id;
INSERT INTO t (ROWTIME, p, q, f) VALUES (1, 'a', 'bc', 5);
INSERT INTO t (ROWTIME, p, q, f) VALUES (2, 'ab', 'c', 5);
INSERT INTO t (ROWTIME, p, q, f) VALUES (3, 'n', NULL, 5);
INSERT INTO t (ROWTIME, p, q, f) VALUES (4, 'z', 'z', 5);
INSERT INTO u (ROWTIME, id, w) VALUES (5, 5, 'five');
INSERT INTO t (ROWTIME, p, q, f) VALUES (6, 'ab', 'c', 6);
INSERT INTO u (ROWTIME, id, w) VALUES (7, 5, 'V');
ASSERT VALUES o (ROWTIME, p, q, f, w) VALUES (5, 'a', 'bc', 5, 'five');
ASSERT VALUES o (ROWTIME, p, q, f, w) VALUES (5, 'ab', 'c', 5, 'five');
ASSERT VALUES o (ROWTIME, p, q, f, w) VALUES (5, 'n', NULL, 5, 'five');
ASSERT VALUES o (ROWTIME, p, q, f, w) VALUES (5, 'z', 'z', 5, 'five');
ASSERT NULL VALUES o (p, q) KEY ('ab', 'c');
ASSERT VALUES o (ROWTIME, p, q, f, w) VALUES (7, 'a', 'bc', 5, 'V');
ASSERT VALUES o (ROWTIME, p, q, f, w) VALUES (7, 'n', NULL, 5, 'V');
ASSERT VALUES o (ROWTIME, p, q, f, w) VALUES (7, 'z', 'z', 5, 'V');
