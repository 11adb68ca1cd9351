-- SQL tests in ksqlDB's form: each must pass.

---------------------------------------------------------------------------
--@test: a filter drops rows
---------------------------------------------------------------------------
CREATE STREAM flights (id STRING KEY, delay INT) WITH (kafka_topic='flights', value_format='JSON');
CREATE STREAM late AS SELECT id, delay FROM flights WHERE delay >= 60;

ASSERT STREAM late (id STRING KEY, delay INT) WITH (kafka_topic='LATE', key_format='kafka', value_format='JSON');

INSERT INTO flights (rowtime, id, delay) VALUES (1, 'a', 59);
INSERT INTO flights (rowtime, id, delay) VALUES (2, 'b', 60);
ASSERT VALUES late (rowtime, id, delay) VALUES (2, 'b', 60);
INSERT INTO flights (id, delay) VALUES ('c', 61);
ASSERT VALUES late (id, delay) VALUES ('c', 61);

--@test: queries read each other, and a table is deleted from
CREATE TABLE planes (id INT PRIMARY KEY, seats INT) WITH (kafka_topic='planes', value_format='AVRO');
CREATE TABLE large AS SELECT * FROM planes WHERE seats > 300;
CREATE TABLE named AS SELECT id, CAST(seats AS STRING) AS text FROM large;
INSERT INTO planes (id, seats) VALUES (1, 400);
INSERT INTO planes (id, seats) VALUES (1, 200);
ASSERT VALUES large (id, seats) VALUES (1, 400);
ASSERT NULL VALUES large (id) KEY (1);
ASSERT VALUES named (id, text) VALUES (1, '400');
ASSERT NULL VALUES named (id) KEY (1);
ASSERT TABLE large (id INT PRIMARY KEY, seats INT) WITH (value_format='AVRO');

--@test: DELETE FROM deletes rows by their keys, also of several columns, and what is made of them
CREATE TABLE people (name STRING PRIMARY KEY, city STRING) WITH (kafka_topic='people', value_format='JSON');
CREATE TABLE per_city AS SELECT city, COUNT(*) AS n FROM people GROUP BY city;
INSERT INTO people VALUES ('ann', 'Oslo');
INSERT INTO people VALUES ('bob', 'Oslo');
ASSERT VALUES per_city (city, n) VALUES ('Oslo', 1);
ASSERT VALUES per_city (city, n) VALUES ('Oslo', 2);
DELETE FROM people WHERE name = 'ann' OR name IN ('nobody', 'ann');
ASSERT VALUES people (name, city) VALUES ('ann', 'Oslo');
ASSERT VALUES people (name, city) VALUES ('bob', 'Oslo');
ASSERT NULL VALUES people (name) KEY ('ann');
ASSERT NULL VALUES people (name) KEY ('nobody');
ASSERT VALUES per_city (city, n) VALUES ('Oslo', 1);
CREATE TABLE pairs (a INT PRIMARY KEY, b DECIMAL(4, 2) PRIMARY KEY, v STRING) WITH (kafka_topic='pairs', format='AVRO');
CREATE TABLE all_pairs AS SELECT * FROM pairs;
DELETE FROM pairs WHERE a IN (1, 1 + 1, 3000000000, NULL) AND b = 1.5;
ASSERT NULL VALUES all_pairs (a, b) KEY (1, 1.5);
ASSERT NULL VALUES all_pairs (a, b) KEY (2, 1.5);

--@test: windows are named by their bounds
CREATE STREAM clicks (who STRING KEY, n INT) WITH (kafka_topic='clicks', value_format='DELIMITED', value_delimiter='|');
CREATE TABLE counts AS SELECT who, COUNT(*) AS n FROM clicks WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY who;
ASSERT STREAM clicks WITH (value_delimiter='|');
INSERT INTO clicks (rowtime, who, n) VALUES (1000, 'x', 1);
INSERT INTO clicks (rowtime, who, n) VALUES (2000, 'x', 1);
INSERT INTO clicks (rowtime, who, n) VALUES (11000, 'x', 1);
ASSERT VALUES counts (rowtime, windowstart, windowend, who, n) VALUES (1000, 0, 10000, 'x', 1);
ASSERT VALUES counts (who, n) VALUES ('x', 2);
ASSERT VALUES counts (windowstart, who, n) VALUES (10000, 'x', 1);

--@test: a stream looks a table up
CREATE STREAM s (id INT KEY, foo INT) WITH (kafka_topic='s', value_format='JSON');
CREATE TABLE t (id INT PRIMARY KEY, bar INT) WITH (kafka_topic='t', value_format='JSON');
CREATE STREAM j AS SELECT s.id, s.foo, t.bar FROM s JOIN t ON s.id = t.id;
INSERT INTO t (rowtime, id, bar) VALUES (1, 1, 1);
INSERT INTO s (rowtime, id, foo) VALUES (1, 1, 2);
ASSERT VALUES j (rowtime, s_id, foo, bar) VALUES (1, 1, 2, 1);

--@test: values of every kind
CREATE STREAM kinds (k STRING KEY, a ARRAY<INT>, m MAP<STRING, DOUBLE>, s STRUCT<x DECIMAL(4, 2), y BYTES>, d DATE)
  WITH (kafka_topic='kinds', value_format='JSON');
CREATE STREAM copies AS SELECT * FROM kinds;
INSERT INTO kinds VALUES (
  'k', ARRAY[1, NULL], MAP('p' := 1.5), STRUCT(x := 1.25, y := TO_BYTES('00ff', 'hex')), '2020-02-29');
ASSERT VALUES copies (k, a, m, s, d) VALUES (
  'k', ARRAY[1, NULL], MAP('p' := 1.5), STRUCT(x := 1.25, y := TO_BYTES('00ff', 'hex')), '2020-02-29');

--@test: a query that is replaced goes on with its groups
SET 'ksql.create.or.replace.enabled' = 'true';
CREATE STREAM foo (id INT KEY, v INT) WITH (kafka_topic='foo', value_format='JSON');
CREATE TABLE bar AS SELECT id, COUNT(*) AS n FROM foo WHERE v >= 0 GROUP BY id;
INSERT INTO foo (id, v) VALUES (1, 0);
INSERT INTO foo (id, v) VALUES (2, 0);
CREATE OR REPLACE TABLE bar AS SELECT id, COUNT(*) AS n FROM foo WHERE v > 0 GROUP BY id;
INSERT INTO foo (id, v) VALUES (1, 0);
INSERT INTO foo (id, v) VALUES (2, 1);
ASSERT VALUES bar (id, n) VALUES (1, 1);
ASSERT VALUES bar (id, n) VALUES (2, 1);
ASSERT VALUES bar (id, n) VALUES (2, 2);

--@test: a join that is replaced goes on with the records
SET 'ksql.create.or.replace.enabled' = 'true';
CREATE STREAM s (id INT KEY, foo INT) WITH (kafka_topic='s', value_format='JSON');
CREATE TABLE t (id INT PRIMARY KEY, bar INT) WITH (kafka_topic='t', value_format='JSON');
CREATE STREAM j AS SELECT s.id AS id, s.foo, t.bar FROM s JOIN t ON s.id = t.id;
INSERT INTO t (id, bar) VALUES (1, 5);
CREATE OR REPLACE STREAM j AS SELECT s.id AS id, s.foo, t.bar FROM s JOIN t ON s.id = t.id WHERE s.foo > 0;
INSERT INTO s (id, foo) VALUES (1, 0);
INSERT INTO s (id, foo) VALUES (1, 1);
ASSERT VALUES j (id, foo, bar) VALUES (1, 1, 5);

--@test: one stream is written by two queries, and one of them is ended
CREATE STREAM a (id INT KEY, v INT) WITH (kafka_topic='a', value_format='JSON');
CREATE STREAM b (id INT KEY, v INT) WITH (kafka_topic='b', value_format='JSON');
CREATE STREAM both AS SELECT * FROM a;
INSERT INTO both SELECT id, v + 1 AS v FROM b;
INSERT INTO b (id, v) VALUES (1, 1);
INSERT INTO a (id, v) VALUES (1, 1);
ASSERT VALUES both (id, v) VALUES (1, 2);
ASSERT VALUES both (id, v) VALUES (1, 1);
TERMINATE CSAS_BOTH_0;
INSERT INTO a (id, v) VALUES (1, 7);
INSERT INTO b (id, v) VALUES (1, 8);
ASSERT VALUES both (id, v) VALUES (1, 9);

--@test: statements of another file
RUN SCRIPT '/scripts/flights.sql';
INSERT INTO flights (id, delay) VALUES ('a', 60);
ASSERT VALUES late (id, delay) VALUES ('a', 60);

--@test: this test has no statements, and is none
--@test: a wrong row is an error
--@expected.error: java.lang.AssertionError
--@expected.message: Expected record does not match actual
CREATE STREAM foo (id INT KEY, v INT) WITH (kafka_topic='foo', value_format='JSON');
INSERT INTO foo (id, v) VALUES (1, 1);
ASSERT VALUES foo (id, v) VALUES (1, 2);

--@test: an unknown source is an error
--@expected.error: io.confluent.ksql.util.KsqlException
--@expected.message: `FOO` does not exist
CREATE STREAM bar AS SELECT * FROM foo;

--@test: text that is not a statement is an error
--@expected.error: io.confluent.ksql.parser.exception.ParseFailedException
CREATE STREAM foo (id INT KEY WITH (kafka_topic='foo', value_format='JSON');

--@test: a source with another schema is an error
--@expected.error: io.confluent.ksql.util.KsqlException
--@expected.message: Expected schema does not match actual
CREATE STREAM foo (id INT KEY, v INT) WITH (kafka_topic='foo', value_format='JSON');
ASSERT STREAM foo (id INT KEY, v STRING) WITH (kafka_topic='foo');

--@test: a circle of queries is an error
--@expected.message: Detected illegal cycle in topology: a->B->a
CREATE STREAM a (id INT KEY, v INT) WITH (kafka_topic='a', value_format='JSON');
CREATE STREAM b AS SELECT * FROM a;
INSERT INTO a SELECT * FROM b;
INSERT INTO a (id, v) VALUES (1, 1);

--@test: variables
DEFINE source = 'flights';
DEFINE format = 'JSON';
CREATE STREAM ${source} (id STRING KEY, delay INT) WITH (kafka_topic='${source}', value_format='${FORMAT}');
UNDEFINE format;
INSERT INTO flights (id, delay) VALUES ('${source}', 1);
ASSERT VALUES ${source} (id, delay) VALUES ('flights', 1);

--@test: variables end with their test
--@expected.error: io.confluent.ksql.util.KsqlException
CREATE STREAM ${source} (id STRING KEY, delay INT) WITH (kafka_topic='flights', value_format='JSON');

--@test: a variable that is not defined
--@expected.error: io.confluent.ksql.util.KsqlException
--@expected.message: Cannot find variable 'source'
UNDEFINE source;

--@test: a row of a negative time
--@expected.error: io.confluent.ksql.util.KsqlException
--@expected.message: ROWTIME is negative: -1
CREATE STREAM flights (id STRING KEY, delay INT) WITH (kafka_topic='flights', value_format='JSON');
INSERT INTO flights (rowtime, id, delay) VALUES (-1, 'a', 1);
