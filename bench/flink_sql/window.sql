-- A window's own aggregate is written once, when the window closes: groups of minutes are written at each change.
{stream}

CREATE TABLE O (K STRING, STARTS TIMESTAMP_LTZ(3), N BIGINT, PRIMARY KEY (K, STARTS) NOT ENFORCED) WITH (
  'connector'='upsert-kafka', 'topic'='{sink}', 'properties.bootstrap.servers'='{bootstrap}', 'key.format'='json',
  'value.format'='json', 'value.fields-include'='EXCEPT_KEY', {delivery}
);

INSERT INTO O SELECT K, FLOOR(`AT` TO MINUTE), COUNT(*) FROM S GROUP BY K, FLOOR(`AT` TO MINUTE);
