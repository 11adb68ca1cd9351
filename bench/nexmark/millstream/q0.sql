-- title: pass through
CREATE STREAM answers WITH (kafka_topic='{run}-out', value_format='JSON') AS
  SELECT auction, bidder, price, dateTime, extra FROM bid;
