--@test: state ttl - a group without rows is deleted, and begins anew
CREATE STREAM a (id STRING KEY, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE TABLE o WITH (state_ttl='10 SECONDS') AS SELECT id, COUNT(*) AS n, SUM(v) AS s FROM a GROUP BY id;
INSERT INTO a (ROWTIME, id, v) VALUES (0, 'x', 1);
INSERT INTO a (ROWTIME, id, v) VALUES (9000, 'y', 1);
INSERT INTO a (ROWTIME, id, v) VALUES (9500, 'x', 1);
INSERT INTO a (ROWTIME, id, v) VALUES (12000, 'y', 1);
INSERT INTO a (ROWTIME, id, v) VALUES (19700, 'y', 5);
INSERT INTO a (ROWTIME, id, v) VALUES (20000, 'x', 7);
INSERT INTO a (ROWTIME, id, v) VALUES (60000, 'z', 1);
ASSERT VALUES o (ROWTIME, id, n, s) VALUES (0, 'x', 1, 1);
ASSERT VALUES o (ROWTIME, id, n, s) VALUES (9000, 'y', 1, 1);
ASSERT VALUES o (ROWTIME, id, n, s) VALUES (9500, 'x', 2, 2);
ASSERT VALUES o (ROWTIME, id, n, s) VALUES (12000, 'y', 2, 2);
ASSERT VALUES o (ROWTIME, id, n, s) VALUES (19700, 'y', 3, 7);
ASSERT NULL VALUES o (ROWTIME, id) KEY (19600, 'x');
ASSERT VALUES o (ROWTIME, id, n, s) VALUES (20000, 'x', 1, 7);
ASSERT VALUES o (ROWTIME, id, n, s) VALUES (60000, 'z', 1, 1);
ASSERT NULL VALUES o (ROWTIME, id) KEY (29800, 'y');
ASSERT NULL VALUES o (ROWTIME, id) KEY (30100, 'x');

--@test: state ttl - HAVING, and the groups of an inner query
CREATE STREAM a (id STRING KEY, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE TABLE o WITH (state_ttl='1 SECOND') AS SELECT id, COUNT(*) AS n FROM a GROUP BY id HAVING COUNT(*) > 1;
CREATE TABLE p WITH (state_ttl='1 SECOND') AS SELECT n, COUNT(*) AS ids FROM (SELECT id, COUNT(*) AS n FROM a GROUP BY id) GROUP BY n;
INSERT INTO a (ROWTIME, id, v) VALUES (0, 'x', 1);
INSERT INTO a (ROWTIME, id, v) VALUES (1, 'y', 1);
INSERT INTO a (ROWTIME, id, v) VALUES (2, 'y', 1);
INSERT INTO a (ROWTIME, id, v) VALUES (5000, 'z', 1);
ASSERT VALUES o (id, n) VALUES ('y', 2);
ASSERT NULL VALUES o (id) KEY ('y');
ASSERT VALUES p (n, ids) VALUES (1, 1);
ASSERT VALUES p (n, ids) VALUES (1, 2);
ASSERT VALUES p (n, ids) VALUES (1, 1);
ASSERT VALUES p (n, ids) VALUES (2, 1);
ASSERT VALUES p (n, ids) VALUES (1, 2);
ASSERT VALUES p (n, ids) VALUES (1, 1);
ASSERT VALUES p (n, ids) VALUES (2, 0);

--@test: state ttl - a group that has expired by its own next row begins anew
CREATE STREAM a (id STRING KEY, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE TABLE o WITH (state_ttl='10 SECONDS') AS SELECT id, COUNT(*) AS n, COLLECT_LIST(v) AS vs FROM a GROUP BY id;
INSERT INTO a (ROWTIME, id, v) VALUES (0, 'x', 1);
INSERT INTO a (ROWTIME, id, v) VALUES (60000, 'x', 2);
INSERT INTO a (ROWTIME, id, v) VALUES (50000, 'x', 3);
INSERT INTO a (ROWTIME, id, v) VALUES (100, 'late', 4);
ASSERT VALUES o (ROWTIME, id, n, vs) VALUES (0, 'x', 1, ARRAY[1]);
ASSERT VALUES o (ROWTIME, id, n, vs) VALUES (60000, 'x', 1, ARRAY[2]);
ASSERT VALUES o (ROWTIME, id, n, vs) VALUES (60000, 'x', 2, ARRAY[2, 3]);
ASSERT VALUES o (ROWTIME, id, n, vs) VALUES (100, 'late', 1, ARRAY[4]);
ASSERT NULL VALUES o (ROWTIME, id) KEY (10200, 'late');
