{stream}

CREATE TABLE O (K STRING, A BIGINT, N BIGINT, S BIGINT) WITH (
  'connector'='kafka', 'topic'='{sink}', 'properties.bootstrap.servers'='{bootstrap}', 'key.format'='raw', 'key.fields'='K',
  'value.format'='json', 'value.fields-include'='EXCEPT_KEY', {delivery}
);

INSERT INTO O SELECT K, A, COUNT(*) OVER W, SUM(A) OVER W FROM S
WINDOW W AS (PARTITION BY K ORDER BY `AT` RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND CURRENT ROW);
