--@test: OFFSET - days begin at midnight in Oslo in winter, an hour before midnight UTC
CREATE STREAM trips (id INT KEY, city STRING, km INT) WITH (kafka_topic='trips', value_format='JSON', partitions=1);
CREATE TABLE daily AS SELECT city, SUM(km) AS km FROM trips WINDOW TUMBLING (SIZE 1 DAY, OFFSET 23 HOURS) GROUP BY city EMIT CHANGES;
INSERT INTO trips (ROWTIME, id, city, km) VALUES (1798757999999, 1, 'oslo', 5);
INSERT INTO trips (ROWTIME, id, city, km) VALUES (1798758000000, 2, 'oslo', 7);
INSERT INTO trips (ROWTIME, id, city, km) VALUES (1798761600000, 3, 'oslo', 1);
INSERT INTO trips (ROWTIME, id, city, km) VALUES (1798844399999, 4, 'oslo', 2);
ASSERT VALUES daily (city, windowstart, windowend, km) VALUES ('oslo', 1798671600000, 1798758000000, 5);
ASSERT VALUES daily (city, windowstart, windowend, km) VALUES ('oslo', 1798758000000, 1798844400000, 7);
ASSERT VALUES daily (city, windowstart, windowend, km) VALUES ('oslo', 1798758000000, 1798844400000, 8);
ASSERT VALUES daily (city, windowstart, windowend, km) VALUES ('oslo', 1798758000000, 1798844400000, 10);

--@test: OFFSET - hopping windows start so much after their multiples, and none before 1970
CREATE STREAM trips (id INT KEY, city STRING, km INT) WITH (kafka_topic='trips', value_format='JSON', partitions=1);
CREATE TABLE hops AS SELECT city, COUNT(*) AS n FROM trips WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS, OFFSET 2 SECONDS) GROUP BY city EMIT CHANGES;
INSERT INTO trips (ROWTIME, id, city, km) VALUES (1000, 1, 'oslo', 5);
INSERT INTO trips (ROWTIME, id, city, km) VALUES (3000, 2, 'oslo', 5);
INSERT INTO trips (ROWTIME, id, city, km) VALUES (16999, 3, 'oslo', 5);
ASSERT VALUES hops (city, windowstart, windowend, n) VALUES ('oslo', 0, 10000, 1);
ASSERT VALUES hops (city, windowstart, windowend, n) VALUES ('oslo', 0, 10000, 2);
ASSERT VALUES hops (city, windowstart, windowend, n) VALUES ('oslo', 2000, 12000, 1);
ASSERT VALUES hops (city, windowstart, windowend, n) VALUES ('oslo', 7000, 17000, 1);
ASSERT VALUES hops (city, windowstart, windowend, n) VALUES ('oslo', 12000, 22000, 1);

--@test: OFFSET - EMIT FINAL closes windows at their own ends, for all groups; distinct values are those of a window
CREATE STREAM trips (id INT KEY, city STRING, km INT) WITH (kafka_topic='trips', value_format='JSON', partitions=1);
CREATE TABLE closed AS SELECT city, COUNT(*) AS n, COUNT(DISTINCT km) AS kinds FROM trips
  WINDOW TUMBLING (SIZE 10 SECONDS, OFFSET 4 SECONDS, GRACE PERIOD 1 SECOND) GROUP BY city EMIT FINAL;
INSERT INTO trips (ROWTIME, id, city, km) VALUES (4000, 1, 'oslo', 5);
INSERT INTO trips (ROWTIME, id, city, km) VALUES (13999, 2, 'oslo', 5);
INSERT INTO trips (ROWTIME, id, city, km) VALUES (14000, 3, 'rome', 5);
INSERT INTO trips (ROWTIME, id, city, km) VALUES (13000, 4, 'oslo', 6);
INSERT INTO trips (ROWTIME, id, city, km) VALUES (15000, 5, 'rome', 5);
INSERT INTO trips (ROWTIME, id, city, km) VALUES (13000, 6, 'oslo', 7);
INSERT INTO trips (ROWTIME, id, city, km) VALUES (25000, 7, 'bern', 1);
ASSERT VALUES closed (city, windowstart, windowend, n, kinds) VALUES ('oslo', 4000, 14000, 3, 2);
ASSERT VALUES closed (city, windowstart, windowend, n, kinds) VALUES ('rome', 14000, 24000, 2, 1);
