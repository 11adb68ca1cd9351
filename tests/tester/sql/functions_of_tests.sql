-- The functions that ksqlDB's tests load: each form of a call.

--@test: functions of tests - a table function of each type
CREATE STREAM t (k STRING KEY, i INT, l BIGINT, d DOUBLE, b BOOLEAN, s STRING, n DECIMAL(7,4), r STRUCT<a STRING>)
  WITH (kafka_topic='t', value_format='JSON');
CREATE STREAM o AS SELECT k, TEST_UDTF(i) AS i, TEST_UDTF(l) AS l, TEST_UDTF(d) AS d, TEST_UDTF(b) AS b,
  TEST_UDTF(s) AS s, TEST_UDTF(n) AS n, TEST_UDTF(r) AS r FROM t;
INSERT INTO t VALUES ('k', 1, 2, 3.5, true, 'foo', 456.1234, STRUCT(a := 'bar'));
ASSERT VALUES o (k, i, l, d, b, s, n, r) VALUES ('k', 1, 2, 3.5, true, 'foo', 456.1234, STRUCT(a := 'bar'));
ASSERT STREAM o (k STRING KEY, i INT, l BIGINT, d DOUBLE, b BOOLEAN, s STRING, n DECIMAL(30,10), r STRUCT<a STRING>)
  WITH (kafka_topic='O', value_format='JSON');

--@test: functions of tests - the overloads of a scalar function
CREATE STREAM t (k STRING KEY, i INT) WITH (kafka_topic='t', value_format='JSON');
CREATE STREAM o AS SELECT k, TEST_UDF() AS nothing, TEST_UDF()->a AS field, TEST_UDF(i, 'a') AS two,
  TEST_UDF(1, 2, 'a') AS three, TEST_UDF(1, 2, 3) AS many FROM t;
INSERT INTO t VALUES ('k', 1);
ASSERT VALUES o (k, nothing, field, two, three, many)
  VALUES ('k', STRUCT(a := 'foo'), 'foo', 'doStuffIntString', 'doStuffLongLongString', 'doStuffLongVarargs');

--@test: functions of tests - sums, with an initial value and over a table
CREATE STREAM t (k STRING KEY, i INT, d DOUBLE, s STRING) WITH (kafka_topic='t', value_format='JSON');
CREATE TABLE u (k STRING PRIMARY KEY, g STRING, l BIGINT) WITH (kafka_topic='u', value_format='JSON');
CREATE TABLE o AS SELECT k, TEST_UDAF(i) AS i, TEST_UDAF(d) AS d, TEST_UDAF(s, 'ab') AS s FROM t GROUP BY k;
CREATE TABLE p AS SELECT g, TEST_UDAF(l) AS l FROM u GROUP BY g;
INSERT INTO t VALUES ('k', 1, 1.5, 'foo');
INSERT INTO t VALUES ('k', 2, 1.5, 'foot');
INSERT INTO u VALUES ('k', 'g', 7);
INSERT INTO u VALUES ('k', 'g', 3);
ASSERT VALUES o (k, i, d, s) VALUES ('k', 1, 1.5, 5);
ASSERT VALUES o (k, i, d, s) VALUES ('k', 3, 3.0, 9);
ASSERT VALUES p (g, l) VALUES ('g', 7);
ASSERT VALUES p (g, l) VALUES ('g', 3);

--@test: functions of tests - a sum of DOUBLE has no undo
--@expected.error: io.confluent.ksql.util.KsqlException
--@expected.message: TEST_UDAF cannot be applied to a table source
CREATE TABLE u (k STRING PRIMARY KEY, g STRING, d DOUBLE) WITH (kafka_topic='u', value_format='JSON');
CREATE TABLE p AS SELECT g, TEST_UDAF(d) AS d FROM u GROUP BY g;

--@test: functions of tests - an aggregate of five columns, with constants
CREATE STREAM t (k STRING KEY, a BIGINT, b STRING, c STRING, d STRING, e INT)
  WITH (kafka_topic='t', value_format='JSON');
CREATE TABLE o AS SELECT k, FIVE_ARG(a, b, c, d, e, 5, '10', '20', '3') AS x, FIVE_ARG(a, b, c, d, e, 5) AS y
  FROM t GROUP BY k;
INSERT INTO t VALUES ('k', 1, 'a', 'bb', 'ccc', 4);
INSERT INTO t VALUES ('k', 1, NULL, 'bb', 'ccc', NULL);
ASSERT VALUES o (k, x, y) VALUES ('k', 21, 16);
ASSERT VALUES o (k, x, y) VALUES ('k', 27, 22);

--@test: functions of tests - one that gives NULL at every other call
CREATE STREAM t (k STRING KEY, s STRING) WITH (kafka_topic='t', value_format='JSON');
CREATE TABLE o AS SELECT BAD_UDF(s) AS s, COUNT(*) AS n FROM t GROUP BY BAD_UDF(s);
CREATE STREAM p AS SELECT k, BAD_UDF(s) AS s FROM t;
INSERT INTO t VALUES ('k', 'a');
INSERT INTO t VALUES ('k', 'b');
ASSERT VALUES o (s, n) VALUES ('b', 1);
ASSERT VALUES p (k, s) VALUES ('k', NULL);
ASSERT VALUES p (k, s) VALUES ('k', 'b');
