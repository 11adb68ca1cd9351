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
