-- title: bounded side input join
-- rewritten: the side input is a topic, a table. Flink: the same, joined as of the bid's time
CREATE TABLE side (id BIGINT PRIMARY KEY, name STRING)
  WITH (kafka_topic='{side}', key_format='JSON', value_format='JSON');

CREATE STREAM answers WITH (kafka_topic='{run}-out', format='JSON') AS
  SELECT s.id AS k, b.auction AS auction, b.bidder AS bidder, b.price AS price, b.dateTime AS dateTime, s.name AS name
  FROM bid b JOIN side s ON b.auction % 10000 = s.id;
