CREATE STREAM flights (id STRING KEY, delay INT) WITH (kafka_topic='flights', value_format='JSON');
CREATE STREAM late AS SELECT id, delay FROM flights WHERE delay >= 60;
