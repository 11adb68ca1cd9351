{stream}

CREATE TABLE R (
  K STRING, C BIGINT, `AT` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', WATERMARK FOR `AT` AS `AT`
) WITH (
  'connector'='kafka', 'topic'='{other}', 'properties.bootstrap.servers'='{bootstrap}', 'properties.group.id'='{group}',
  'properties.isolation.level'='read_committed', 'scan.startup.mode'='earliest-offset',
  'key.format'='raw', 'key.fields'='K', 'value.format'='json', 'value.fields-include'='EXCEPT_KEY'
);

CREATE TABLE O (K STRING, A BIGINT, C BIGINT) WITH (
  'connector'='kafka', 'topic'='{sink}', 'properties.bootstrap.servers'='{bootstrap}', 'key.format'='raw', 'key.fields'='K',
  'value.format'='json', 'value.fields-include'='EXCEPT_KEY', {delivery}
);

INSERT INTO O SELECT S.K, A, C FROM S JOIN R ON S.K = R.K
  AND R.`AT` BETWEEN S.`AT` - INTERVAL '0.5' SECOND AND S.`AT` + INTERVAL '0.5' SECOND;
