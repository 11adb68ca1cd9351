CREATE TABLE person (
  id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING, `dateTime` BIGINT, extra STRING,
  ts AS TO_TIMESTAMP_LTZ(`dateTime`, 3), WATERMARK FOR ts AS ts
) WITH (
  'connector'='kafka', 'topic'='{person}', 'properties.bootstrap.servers'='{bootstrap}', 'properties.group.id'='{run}',
  'scan.startup.mode'='earliest-offset', 'value.format'='json'
);

CREATE TABLE auction (
  id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, `dateTime` BIGINT, expires BIGINT,
  seller BIGINT, category BIGINT, extra STRING,
  ts AS TO_TIMESTAMP_LTZ(`dateTime`, 3), WATERMARK FOR ts AS ts
) WITH (
  'connector'='kafka', 'topic'='{auction}', 'properties.bootstrap.servers'='{bootstrap}', 'properties.group.id'='{run}',
  'scan.startup.mode'='earliest-offset', 'value.format'='json'
);

CREATE TABLE bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, `dateTime` BIGINT, extra STRING,
  ts AS TO_TIMESTAMP_LTZ(`dateTime`, 3), WATERMARK FOR ts AS ts
) WITH (
  'connector'='kafka', 'topic'='{bid}', 'properties.bootstrap.servers'='{bootstrap}', 'properties.group.id'='{run}',
  'scan.startup.mode'='earliest-offset', 'value.format'='json'
);
