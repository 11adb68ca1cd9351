--@test: DISTINCT in aggregates - beside others, with two columns, NULLs and HAVING
CREATE STREAM a (id INT KEY, shop STRING, user STRING, amount INT) WITH (kafka_topic='a', format='JSON', partitions=1);
CREATE TABLE o AS SELECT shop, COUNT(DISTINCT user) AS users, COUNT(user) AS visits, COUNT(*) AS n, SUM(DISTINCT amount) AS amounts, SUM(amount) AS total
  FROM a GROUP BY shop HAVING COUNT(DISTINCT user) > 0;
INSERT INTO a (ROWTIME, id, shop, user, amount) VALUES (1, 1, 'x', NULL, 5);
INSERT INTO a (ROWTIME, id, shop, user, amount) VALUES (2, 1, 'x', 'ann', 5);
INSERT INTO a (ROWTIME, id, shop, user, amount) VALUES (3, 2, 'x', 'ann', 7);
INSERT INTO a (ROWTIME, id, shop, user, amount) VALUES (4, 3, 'y', 'ann', 7);
INSERT INTO a (ROWTIME, id, shop, user, amount) VALUES (5, 4, 'x', 'bob', 7);
INSERT INTO a (ROWTIME, id, shop, user, amount) VALUES (6, 4, NULL, 'bob', 7);
INSERT INTO a (ROWTIME, id, shop, user, amount) VALUES (7, 4, 'x', NULL, NULL);
ASSERT VALUES o (ROWTIME, shop, users, visits, n, amounts, total) VALUES (2, 'x', 1, 1, 2, 5, 10);
ASSERT VALUES o (ROWTIME, shop, users, visits, n, amounts, total) VALUES (3, 'x', 1, 2, 3, 12, 17);
ASSERT VALUES o (ROWTIME, shop, users, visits, n, amounts, total) VALUES (4, 'y', 1, 1, 1, 7, 7);
ASSERT VALUES o (ROWTIME, shop, users, visits, n, amounts, total) VALUES (5, 'x', 2, 3, 4, 12, 24);
ASSERT VALUES o (ROWTIME, shop, users, visits, n, amounts, total) VALUES (7, 'x', 2, 3, 5, 12, 24);
ASSERT TABLE o (shop STRING PRIMARY KEY, users BIGINT, visits BIGINT, n BIGINT, amounts INT, total INT) WITH (kafka_topic='O', format='JSON');

--@test: DISTINCT in aggregates - in windows, where a value counts again, and late rows are left out
CREATE STREAM a (id STRING KEY, user STRING) WITH (kafka_topic='a', format='JSON', partitions=1);
CREATE TABLE o AS SELECT id, COUNT(DISTINCT user) AS users, COUNT(*) AS n FROM a WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 5 SECONDS) GROUP BY id;
INSERT INTO a (ROWTIME, id, user) VALUES (1000, 'x', 'ann');
INSERT INTO a (ROWTIME, id, user) VALUES (2000, 'x', 'ann');
INSERT INTO a (ROWTIME, id, user) VALUES (12000, 'x', 'ann');
INSERT INTO a (ROWTIME, id, user) VALUES (3000, 'x', 'ann');
INSERT INTO a (ROWTIME, id, user) VALUES (4000, 'x', 'bob');
INSERT INTO a (ROWTIME, id, user) VALUES (30000, 'y', 'ann');
INSERT INTO a (ROWTIME, id, user) VALUES (5000, 'x', 'ann');
INSERT INTO a (ROWTIME, id, user) VALUES (31000, 'y', 'ann');
ASSERT VALUES o (id, windowstart, windowend, users, n) VALUES ('x', 0, 10000, 1, 1);
ASSERT VALUES o (id, windowstart, windowend, users, n) VALUES ('x', 0, 10000, 1, 2);
ASSERT VALUES o (id, windowstart, windowend, users, n) VALUES ('x', 10000, 20000, 1, 1);
ASSERT VALUES o (id, windowstart, windowend, users, n) VALUES ('x', 0, 10000, 1, 3);
ASSERT VALUES o (id, windowstart, windowend, users, n) VALUES ('x', 0, 10000, 2, 4);
ASSERT VALUES o (id, windowstart, windowend, users, n) VALUES ('y', 30000, 40000, 1, 1);
ASSERT VALUES o (id, windowstart, windowend, users, n) VALUES ('y', 30000, 40000, 1, 2);

--@test: DISTINCT in aggregates - EMIT FINAL, by two columns, two of them distinct, one an expression
CREATE STREAM a (id INT KEY, p STRING, q STRING, v INT, w DOUBLE) WITH (kafka_topic='a', format='JSON', partitions=1);
CREATE TABLE o AS SELECT p, q, COUNT(DISTINCT v % 2) AS odd, COUNT(DISTINCT w) AS ws, MIN(DISTINCT v) AS least
  FROM a WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY p, q EMIT FINAL;
INSERT INTO a (ROWTIME, id, p, q, v, w) VALUES (1000, 1, 'a', 'bc', 1, 1.5);
INSERT INTO a (ROWTIME, id, p, q, v, w) VALUES (2000, 1, 'ab', 'c', 1, 1.5);
INSERT INTO a (ROWTIME, id, p, q, v, w) VALUES (3000, 1, 'a', 'bc', 3, 1.5);
INSERT INTO a (ROWTIME, id, p, q, v, w) VALUES (4000, 1, 'a', 'bc', 4, 2.5);
INSERT INTO a (ROWTIME, id, p, q, v, w) VALUES (60000, 1, 'z', 'z', 1, 1.5);
ASSERT VALUES o (p, q, windowstart, windowend, odd, ws, least) VALUES ('a', 'bc', 0, 10000, 2, 2, 1);
ASSERT VALUES o (p, q, windowstart, windowend, odd, ws, least) VALUES ('ab', 'c', 0, 10000, 1, 1, 1);

--@test: DISTINCT in aggregates - over a join and in an inner query
CREATE STREAM a (id INT KEY, shop STRING, user STRING) WITH (kafka_topic='a', format='JSON', partitions=1);
CREATE TABLE t (shop STRING PRIMARY KEY, city STRING) WITH (kafka_topic='t', format='JSON', partitions=1);
CREATE TABLE o AS SELECT users, COUNT(*) AS cities FROM
  (SELECT t.city AS city, COUNT(DISTINCT user) AS users FROM a JOIN t ON a.shop = t.shop GROUP BY t.city) GROUP BY users;
INSERT INTO t (ROWTIME, shop, city) VALUES (0, 'x', 'Rome');
INSERT INTO t (ROWTIME, shop, city) VALUES (0, 'y', 'Rome');
INSERT INTO a (ROWTIME, id, shop, user) VALUES (1, 1, 'x', 'ann');
INSERT INTO a (ROWTIME, id, shop, user) VALUES (2, 1, 'y', 'ann');
INSERT INTO a (ROWTIME, id, shop, user) VALUES (3, 1, 'y', 'a name of more than thirty-two letters');
INSERT INTO a (ROWTIME, id, shop, user) VALUES (4, 1, 'x', 'a name of more than thirty-two letters');
ASSERT VALUES o (users, cities) VALUES (1, 1);
ASSERT VALUES o (users, cities) VALUES (1, 1);
ASSERT VALUES o (users, cities) VALUES (1, 0);
ASSERT VALUES o (users, cities) VALUES (2, 1);
ASSERT VALUES o (users, cities) VALUES (2, 1);

--@test: DISTINCT in aggregates - in HOPPING windows, of which a value may be new to one and known to another
CREATE STREAM a (id STRING KEY, user STRING) WITH (kafka_topic='a', format='JSON', partitions=1);
CREATE TABLE o AS SELECT id, COUNT(DISTINCT user) AS users, COUNT(*) AS n, MAX(DISTINCT user) AS most FROM a
  WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY id;
INSERT INTO a (ROWTIME, id, user) VALUES (6000, 'x', 'ann');
INSERT INTO a (ROWTIME, id, user) VALUES (11000, 'x', 'ann');
INSERT INTO a (ROWTIME, id, user) VALUES (7000, 'x', 'bob');
INSERT INTO a (ROWTIME, id, user) VALUES (12000, NULL, 'bob');
ASSERT VALUES o (id, windowstart, windowend, users, n, most) VALUES ('x', 0, 10000, 1, 1, 'ann');
ASSERT VALUES o (id, windowstart, windowend, users, n, most) VALUES ('x', 5000, 15000, 1, 1, 'ann');
ASSERT VALUES o (id, windowstart, windowend, users, n, most) VALUES ('x', 5000, 15000, 1, 2, 'ann');
ASSERT VALUES o (id, windowstart, windowend, users, n, most) VALUES ('x', 10000, 20000, 1, 1, 'ann');
ASSERT VALUES o (id, windowstart, windowend, users, n, most) VALUES ('x', 5000, 15000, 2, 3, 'bob');

--@test: DISTINCT in aggregates - conditions of one argument share what is stored of a value
CREATE STREAM a (id INT KEY, shop STRING, user STRING, amount INT) WITH (kafka_topic='a', format='JSON', partitions=1);
CREATE TABLE o AS SELECT shop, COUNT(DISTINCT user) AS users, COUNT(DISTINCT user) FILTER (WHERE amount > 10) AS large,
    COUNT(DISTINCT CASE WHEN amount <= 10 THEN user END) AS small, COUNT(DISTINCT amount) FILTER (WHERE user = 'ann') AS of_ann
  FROM a GROUP BY shop;
INSERT INTO a (id, shop, user, amount) VALUES (1, 's', 'ann', 5);
INSERT INTO a (id, shop, user, amount) VALUES (1, 's', 'ann', 20);
INSERT INTO a (id, shop, user, amount) VALUES (1, 's', 'bob', 20);
INSERT INTO a (id, shop, user, amount) VALUES (1, 's', 'bob', 30);
INSERT INTO a (id, shop, user, amount) VALUES (1, 's', 'ann', NULL);
INSERT INTO a (id, shop, user, amount) VALUES (1, 's', 'bob', 5);
INSERT INTO a (id, shop, user, amount) VALUES (1, 's', 'ann', 20);
ASSERT VALUES o (shop, users, large, small, of_ann) VALUES ('s', 1, 0, 1, 1);
ASSERT VALUES o (shop, users, large, small, of_ann) VALUES ('s', 1, 1, 1, 2);
ASSERT VALUES o (shop, users, large, small, of_ann) VALUES ('s', 2, 2, 1, 2);
ASSERT VALUES o (shop, users, large, small, of_ann) VALUES ('s', 2, 2, 1, 2);
ASSERT VALUES o (shop, users, large, small, of_ann) VALUES ('s', 2, 2, 1, 2);
ASSERT VALUES o (shop, users, large, small, of_ann) VALUES ('s', 2, 2, 2, 2);
ASSERT VALUES o (shop, users, large, small, of_ann) VALUES ('s', 2, 2, 2, 2);
