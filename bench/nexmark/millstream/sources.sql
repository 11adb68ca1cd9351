CREATE STREAM person (
  id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING, dateTime BIGINT, extra STRING
) WITH (kafka_topic='{person}', value_format='JSON');

CREATE STREAM auction (
  id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, dateTime BIGINT, expires BIGINT,
  seller BIGINT, category BIGINT, extra STRING
) WITH (kafka_topic='{auction}', value_format='JSON');

CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime BIGINT, extra STRING
) WITH (kafka_topic='{bid}', value_format='JSON');
