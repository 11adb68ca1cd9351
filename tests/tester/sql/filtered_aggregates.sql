--@test: FILTER in aggregates - of a stream, beside aggregates of all rows, also where NULLs count
CREATE STREAM a (id INT KEY, shop STRING, amount INT, note STRING) WITH (kafka_topic='a', format='JSON', partitions=1);
CREATE TABLE o AS SELECT shop, COUNT(*) AS n, COUNT(*) FILTER (WHERE amount > 10) AS large, SUM(amount) FILTER (WHERE amount <= 10) AS small,
    ARRAY_LENGTH(COLLECT_LIST(note) FILTER (WHERE amount > 10)) AS notes, LATEST_BY_OFFSET(amount) FILTER (WHERE note = 'x') AS last_x
  FROM a GROUP BY shop HAVING COUNT(*) FILTER (WHERE amount > 0) > 0;
INSERT INTO a (id, shop, amount, note) VALUES (1, 's', 0, 'never shown');
INSERT INTO a (id, shop, amount, note) VALUES (1, 's', 5, 'x');
INSERT INTO a (id, shop, amount, note) VALUES (1, 's', 20, NULL);
INSERT INTO a (id, shop, amount, note) VALUES (1, 's', NULL, 'y');
INSERT INTO a (id, shop, amount, note) VALUES (1, 's', 30, 'z');
ASSERT VALUES o (shop, n, large, small, notes, last_x) VALUES ('s', 2, 0, 5, 0, 5);
ASSERT VALUES o (shop, n, large, small, notes, last_x) VALUES ('s', 3, 1, 5, 1, 5);
ASSERT VALUES o (shop, n, large, small, notes, last_x) VALUES ('s', 4, 1, 5, 1, 5);
ASSERT VALUES o (shop, n, large, small, notes, last_x) VALUES ('s', 5, 2, 5, 2, 5);

--@test: FILTER in aggregates - of a table, whose rows take back what they added
CREATE TABLE a (id INT PRIMARY KEY, shop STRING, amount INT) WITH (kafka_topic='a', format='JSON', partitions=1);
CREATE TABLE o AS SELECT shop, COUNT(*) AS n, SUM(amount) FILTER (WHERE amount > 10) AS large, AVG(amount) FILTER (WHERE id > 1) AS mean FROM a GROUP BY shop;
INSERT INTO a (id, shop, amount) VALUES (1, 's', 20);
INSERT INTO a (id, shop, amount) VALUES (2, 's', 30);
INSERT INTO a (id, shop, amount) VALUES (1, 's', 5);
INSERT INTO a (id, shop, amount) VALUES (2, 's', 40);
ASSERT VALUES o (shop, n, large, mean) VALUES ('s', 1, 20, 0.0);
ASSERT VALUES o (shop, n, large, mean) VALUES ('s', 2, 50, 30.0);
ASSERT VALUES o (shop, n, large, mean) VALUES ('s', 2, 30, 30.0);
ASSERT VALUES o (shop, n, large, mean) VALUES ('s', 2, 40, 40.0);

--@test: FILTER in aggregates - in windows and sessions, and with DISTINCT
CREATE STREAM a (id INT KEY, shop STRING, user STRING, amount INT) WITH (kafka_topic='a', format='JSON', partitions=1);
CREATE TABLE o AS SELECT shop, COUNT(DISTINCT user) FILTER (WHERE amount > 10) AS buyers, COUNT(DISTINCT user) AS users, COUNT(*) FILTER (WHERE amount > 10) AS n
  FROM a WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY shop;
CREATE TABLE p AS SELECT shop, COUNT(*) FILTER (WHERE amount > 10) AS n, COUNT(*) AS visits FROM a WINDOW SESSION (10 SECONDS) GROUP BY shop;
INSERT INTO a (ROWTIME, id, shop, user, amount) VALUES (0, 1, 's', 'ann', 1);
INSERT INTO a (ROWTIME, id, shop, user, amount) VALUES (1000, 1, 's', 'ann', 11);
INSERT INTO a (ROWTIME, id, shop, user, amount) VALUES (2000, 1, 's', 'ann', 12);
ASSERT VALUES o (shop, windowstart, windowend, buyers, users, n) VALUES ('s', 0, 3600000, 0, 1, 0);
ASSERT VALUES o (shop, windowstart, windowend, buyers, users, n) VALUES ('s', 0, 3600000, 1, 1, 1);
ASSERT VALUES o (shop, windowstart, windowend, buyers, users, n) VALUES ('s', 0, 3600000, 1, 1, 2);
ASSERT VALUES p (shop, windowstart, windowend, n, visits) VALUES ('s', 0, 0, 0, 1);
ASSERT NULL VALUES p (shop, windowstart, windowend) KEY ('s', 0, 0);
ASSERT VALUES p (shop, windowstart, windowend, n, visits) VALUES ('s', 0, 1000, 1, 2);
ASSERT NULL VALUES p (shop, windowstart, windowend) KEY ('s', 0, 1000);
ASSERT VALUES p (shop, windowstart, windowend, n, visits) VALUES ('s', 0, 2000, 2, 3);
