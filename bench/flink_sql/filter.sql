{stream}

CREATE TABLE O (K STRING, A2 BIGINT, B STRING) WITH (
  'connector'='kafka', 'topic'='{sink}', 'properties.bootstrap.servers'='{bootstrap}', 'key.format'='raw', 'key.fields'='K',
  'value.format'='json', 'value.fields-include'='EXCEPT_KEY', {delivery}
);

INSERT INTO O SELECT K, A * 2, UPPER(B) FROM S WHERE A > 0;
