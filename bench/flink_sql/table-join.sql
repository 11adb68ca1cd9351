-- The table's row at the time of the stream's: it waits until the table's topic falls silent, as it is older. The stream
-- counts as active though it is read to its end: were it silent before the table, nothing would be joined.
CREATE TABLE S (
  K STRING, A BIGINT, B STRING, `AT` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', WATERMARK FOR `AT` AS `AT`
) WITH (
  'connector'='kafka', 'topic'='{source}', 'properties.bootstrap.servers'='{bootstrap}', 'properties.group.id'='{group}',
  'properties.isolation.level'='read_committed', 'scan.startup.mode'='earliest-offset', 'scan.watermark.idle-timeout'='1 h',
  'key.format'='raw', 'key.fields'='K', 'value.format'='json', 'value.fields-include'='EXCEPT_KEY'
);

CREATE TABLE T (
  K STRING, NAME STRING, `AT` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', WATERMARK FOR `AT` AS `AT`,
  PRIMARY KEY (K) NOT ENFORCED
) WITH (
  'connector'='upsert-kafka', 'topic'='{other}', 'properties.bootstrap.servers'='{bootstrap}', 'key.format'='raw',
  'value.format'='json', 'value.fields-include'='EXCEPT_KEY'
);

CREATE TABLE O (K STRING, A BIGINT, NAME STRING) WITH (
  'connector'='kafka', 'topic'='{sink}', 'properties.bootstrap.servers'='{bootstrap}', 'key.format'='raw', 'key.fields'='K',
  'value.format'='json', 'value.fields-include'='EXCEPT_KEY', {delivery}
);

INSERT INTO O SELECT S.K, A, NAME FROM S LEFT JOIN T FOR SYSTEM_TIME AS OF S.`AT` ON S.K = T.K;
