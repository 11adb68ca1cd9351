-- SET and UNSET in a test, checked as a session's are; and what is inherited where nothing is set.

--@test: a setting of a server
SET 'ksql.any.key.name.enabled' = 'true';
SET 'ksql.persistence.wrap.single.values' = 'false';
CREATE STREAM s (id INT KEY, v INT) WITH (kafka_topic='s', format='JSON', partitions=1);
CREATE STREAM o AS SELECT * FROM s;
UNSET 'ksql.persistence.wrap.single.values';
CREATE STREAM p AS SELECT * FROM o;
ASSERT STREAM o (id INT KEY, v INT) WITH (kafka_topic='O', format='JSON', wrap_single_value=false);
ASSERT STREAM p (id INT KEY, v INT) WITH (kafka_topic='P', format='JSON', wrap_single_value=false);

--@test: an unknown setting
--@expected.error: io.confluent.ksql.util.KsqlException
--@expected.message: Not recognizable as ksql, streams, consumer, or producer property: 'ksql.persistence.wrap.single.valuse'
SET 'ksql.persistence.wrap.single.valuse' = 'false';

--@test: an invalid value
--@expected.error: io.confluent.ksql.util.KsqlException
--@expected.message: of property 'auto.offset.reset'
SET 'auto.offset.reset' = 'sideways';

--@test: the key format of a result without key columns is for what is made of it
CREATE STREAM raw (v INT, x INT) WITH (kafka_topic='raw', format='JSON', partitions=1);
CREATE STREAM s WITH (format='JSON') AS SELECT v, x FROM raw;
CREATE TABLE c AS SELECT v, x, COUNT(*) AS n FROM s GROUP BY v, x;
INSERT INTO raw VALUES (1, 2);
ASSERT VALUES s VALUES (1, 2);
ASSERT VALUES c VALUES (1, 2, 1);
ASSERT STREAM s (v INT, x INT) WITH (kafka_topic='S', format='JSON');
ASSERT TABLE c (v INT PRIMARY KEY, x INT PRIMARY KEY, n BIGINT) WITH (kafka_topic='C', format='JSON');

--@test: a time that is NULL ends a query that is strict about times
--@expected.error: io.confluent.ksql.util.KsqlException
--@expected.message: the TIMESTAMP column T is NULL
SET 'ksql.timestamp.throw.on.invalid' = 'true';
CREATE STREAM s (id INT KEY, t BIGINT) WITH (kafka_topic='s', value_format='JSON', timestamp='t');
CREATE STREAM o AS SELECT id, t AS time FROM s;
INSERT INTO s VALUES (1, 7);
ASSERT VALUES o (rowtime, id, time) VALUES (7, 1, 7);
INSERT INTO s VALUES (2, -1);
INSERT INTO s VALUES (3, NULL);
