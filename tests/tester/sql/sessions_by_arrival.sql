--@test: EARLIEST_BY_OFFSET and LATEST_BY_OFFSET - in sessions that merge, of rows in the order of their arrival
CREATE STREAM a (k STRING KEY, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE TABLE o AS SELECT k, EARLIEST_BY_OFFSET(v) AS first, LATEST_BY_OFFSET(v) AS last, EARLIEST_BY_OFFSET(v, 2) AS firsts, LATEST_BY_OFFSET(v, 2) AS lasts,
    COLLECT_LIST(v) AS everything FROM a WINDOW SESSION (10 SECONDS) GROUP BY k;
INSERT INTO a (ROWTIME, k, v) VALUES (30000, 's', 1);
INSERT INTO a (ROWTIME, k, v) VALUES (12000, 's', 2);
INSERT INTO a (ROWTIME, k, v) VALUES (21000, 's', NULL);
INSERT INTO a (ROWTIME, k, v) VALUES (13000, 's', 3);
ASSERT VALUES o (k, windowstart, windowend, first, last, firsts, lasts, everything) VALUES ('s', 30000, 30000, 1, 1, ARRAY[1], ARRAY[1], ARRAY[1]);
ASSERT VALUES o (k, windowstart, windowend, first, last, firsts, lasts, everything) VALUES ('s', 12000, 12000, 2, 2, ARRAY[2], ARRAY[2], ARRAY[2]);
ASSERT NULL VALUES o (k, windowstart, windowend) KEY ('s', 12000, 12000);
ASSERT NULL VALUES o (k, windowstart, windowend) KEY ('s', 30000, 30000);
ASSERT VALUES o (k, windowstart, windowend, first, last, firsts, lasts, everything) VALUES ('s', 12000, 30000, 1, 2, ARRAY[1, 2], ARRAY[1, 2], ARRAY[2, 1, NULL]);
ASSERT NULL VALUES o (k, windowstart, windowend) KEY ('s', 12000, 30000);
ASSERT VALUES o (k, windowstart, windowend, first, last, firsts, lasts, everything) VALUES ('s', 12000, 30000, 1, 3, ARRAY[1, 2], ARRAY[2, 3], ARRAY[2, 1, NULL, 3]);

--@test: EARLIEST_BY_OFFSET and LATEST_BY_OFFSET - in sessions that merge, with NULLs, which count
CREATE STREAM a (k STRING KEY, v MAP<STRING, INT>) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE TABLE o AS SELECT k, EARLIEST_BY_OFFSET(v, false) AS first, LATEST_BY_OFFSET(v, false)['a'] AS last, EARLIEST_BY_OFFSET(v, 2, false) AS firsts,
    LATEST_BY_OFFSET(v, 3, false) AS lasts FROM a WINDOW SESSION (10 SECONDS) GROUP BY k;
INSERT INTO a (ROWTIME, k, v) VALUES (30000, 's', NULL);
INSERT INTO a (ROWTIME, k, v) VALUES (12000, 's', MAP('a' := 2));
INSERT INTO a (ROWTIME, k, v) VALUES (21000, 's', MAP('a' := 3));
ASSERT VALUES o (k, windowstart, windowend, first, last, firsts, lasts) VALUES ('s', 30000, 30000, NULL, NULL, ARRAY[CAST(NULL AS MAP<STRING, INT>)], ARRAY[CAST(NULL AS MAP<STRING, INT>)]);
ASSERT VALUES o (k, windowstart, windowend, first, last, firsts, lasts) VALUES ('s', 12000, 12000, MAP('a' := 2), 2, ARRAY[MAP('a' := 2)], ARRAY[MAP('a' := 2)]);
ASSERT NULL VALUES o (k, windowstart, windowend) KEY ('s', 12000, 12000);
ASSERT NULL VALUES o (k, windowstart, windowend) KEY ('s', 30000, 30000);
ASSERT VALUES o (k, windowstart, windowend, first, last, firsts, lasts) VALUES ('s', 12000, 30000, NULL, 3, ARRAY[NULL, MAP('a' := 2)], ARRAY[NULL, MAP('a' := 2), MAP('a' := 3)]);
