-- title: get URL directories
CREATE STREAM answers WITH (kafka_topic='{run}-out', value_format='JSON') AS
  SELECT auction, bidder, price, channel, SPLIT(url, '/')[4] AS dir1, SPLIT(url, '/')[5] AS dir2,
    SPLIT(url, '/')[6] AS dir3
  FROM bid;
