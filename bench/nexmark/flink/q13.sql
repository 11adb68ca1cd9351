CREATE TABLE side (
  id STRING, name STRING, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', WATERMARK FOR ts AS ts, PRIMARY KEY (id) NOT ENFORCED
) WITH (
  'connector'='upsert-kafka', 'topic'='{side}', 'properties.bootstrap.servers'='{bootstrap}', 'key.format'='raw',
  'value.format'='json', 'value.fields-include'='EXCEPT_KEY'
);

CREATE TABLE answers (auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` BIGINT, name STRING) WITH ({append});

INSERT INTO answers SELECT B.auction, B.bidder, B.price, B.`dateTime`, S.name
FROM (SELECT *, CAST(MOD(auction, 10000) AS STRING) AS side_id FROM bid) B
JOIN side FOR SYSTEM_TIME AS OF B.ts AS S ON B.side_id = S.id;
