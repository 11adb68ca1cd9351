CREATE TABLE S (
  K STRING, A BIGINT, B STRING, `AT` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', WATERMARK FOR `AT` AS `AT`
) WITH (
  'connector'='kafka', 'topic'='{source}', 'properties.bootstrap.servers'='{bootstrap}', 'properties.group.id'='{group}',
  'properties.isolation.level'='read_committed', 'scan.startup.mode'='earliest-offset',
  'key.format'='raw', 'key.fields'='K', 'value.format'='json', 'value.fields-include'='EXCEPT_KEY'
);
