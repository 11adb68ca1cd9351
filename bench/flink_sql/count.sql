{stream}

CREATE TABLE O (K STRING, N BIGINT, S BIGINT, PRIMARY KEY (K) NOT ENFORCED) WITH (
  'connector'='upsert-kafka', 'topic'='{sink}', 'properties.bootstrap.servers'='{bootstrap}', 'key.format'='raw',
  'value.format'='json', 'value.fields-include'='EXCEPT_KEY', {delivery}
);

INSERT INTO O SELECT K, COUNT(*), SUM(A) FROM S GROUP BY K;
