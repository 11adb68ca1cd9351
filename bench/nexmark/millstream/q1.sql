-- title: currency conversion
CREATE STREAM answers WITH (kafka_topic='{run}-out', value_format='JSON') AS
  SELECT auction, bidder, 0.908 * price AS price, dateTime, extra FROM bid;
