-- The columns that INSERT VALUES and ASSERT VALUES write and compare.

--@test: without a list of columns the key's come first, wherever they are declared
CREATE STREAM a (v INT, id STRING KEY, m INT) WITH (kafka_topic='a', value_format='JSON');
CREATE STREAM o AS SELECT m, id FROM a;
INSERT INTO a VALUES ('x', 1, 2);
INSERT INTO a (v, id, m) VALUES (1, 'x', 2);
ASSERT VALUES a VALUES ('x', 1, 2);
ASSERT VALUES a (v, id, m) VALUES (1, 'x', 2);
ASSERT VALUES o VALUES ('x', 2);

--@test: a source with header columns takes values of its other columns
CREATE STREAM a (id STRING KEY, h BYTES HEADER('h'), v INT) WITH (kafka_topic='a', value_format='JSON');
CREATE STREAM o AS SELECT id, v, h FROM a;
INSERT INTO a (id, v) VALUES ('x', 1);
ASSERT VALUES o (id, v, h) VALUES ('x', 1, NULL);

--@test: a header cannot be written
--@expected.error: io.confluent.ksql.util.KsqlException
--@expected.message: Cannot insert into HEADER columns: H
CREATE STREAM a (id STRING KEY, h BYTES HEADER('h'), v INT) WITH (kafka_topic='a', value_format='JSON');
INSERT INTO a (id, h) VALUES ('x', NULL);

--@test: a DECIMAL is written if the column holds its value, whatever its type
CREATE STREAM a (id STRING KEY, d DECIMAL(6, 2), l ARRAY<DECIMAL(4, 1)>, s STRUCT<d DECIMAL(4, 1)>) WITH (kafka_topic='a', value_format='JSON');
CREATE STREAM o AS SELECT * FROM a;
INSERT INTO a VALUES ('x', 2 * 1.5, ARRAY[1.50, 2], STRUCT(d := 1.50));
INSERT INTO a VALUES ('y', CAST(1.5 AS DECIMAL(20, 10)), ARRAY[1.5 * 2], STRUCT(d := 0.5 * 3));
INSERT INTO a VALUES ('z', 1.230, NULL, NULL);
INSERT INTO a VALUES ('r', ROUND(1.256, 2), NULL, NULL);
INSERT INTO a VALUES ('n', CAST(NULL AS DECIMAL(20, 10)), NULL, NULL);
ASSERT VALUES o VALUES ('x', 3.00, ARRAY[1.5, 2.0], STRUCT(d := 1.5));
ASSERT VALUES o VALUES ('y', 1.50, ARRAY[3.0], STRUCT(d := 1.5));
ASSERT VALUES o VALUES ('z', 1.23, NULL, NULL);
ASSERT VALUES o VALUES ('r', 1.26, NULL, NULL);
ASSERT VALUES o VALUES ('n', NULL, NULL, NULL);

--@test: a DECIMAL that is computed is not rounded to its column's
--@expected.error: io.confluent.ksql.util.KsqlStatementException
--@expected.message: no DECIMAL(6, 2) is exact
CREATE STREAM a (id STRING KEY, d DECIMAL(6, 2)) WITH (kafka_topic='a', value_format='JSON');
INSERT INTO a VALUES ('x', 1.5 * 0.125);

--@test: a DECIMAL that is computed has to have room in its column
--@expected.error: io.confluent.ksql.util.KsqlStatementException
--@expected.message: 10000.00 does not fit DECIMAL(6, 2)
CREATE STREAM a (id STRING KEY, d DECIMAL(6, 2)) WITH (kafka_topic='a', value_format='JSON');
INSERT INTO a VALUES ('x', 9999.5 + 0.5);

--@test: a constant is not rounded to its column's DECIMAL
--@expected.error: io.confluent.ksql.util.KsqlStatementException
--@expected.message: Expected type DECIMAL(6, 2) for field `D` but got DECIMAL(1.234)
CREATE STREAM a (id STRING KEY, d DECIMAL(6, 2)) WITH (kafka_topic='a', value_format='JSON');
INSERT INTO a VALUES ('x', 1.234);

--@test: a ROWTIME of NULL is the time of the statement, as if it were not listed
CREATE STREAM a (id STRING KEY, v INT) WITH (kafka_topic='a', value_format='JSON');
CREATE STREAM o AS SELECT id, ROWTIME > '2020-01-01' AS now FROM a;
INSERT INTO a (ROWTIME, id) VALUES (NULL, 'x');
INSERT INTO a (ROWTIME, id) VALUES (CAST(NULL AS BIGINT), 'y');
INSERT INTO a (ROWTIME, id) VALUES (0, 'z');
ASSERT VALUES o VALUES ('x', true);
ASSERT VALUES o VALUES ('y', true);
ASSERT VALUES o VALUES ('z', false);
