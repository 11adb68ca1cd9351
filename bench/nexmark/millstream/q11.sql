-- title: user sessions
CREATE TABLE answers WITH (kafka_topic='{run}-out', format='JSON') AS
  SELECT bidder AS k, AS_VALUE(bidder) AS bidder, COUNT(*) AS bid_count, WINDOWSTART AS starttime,
    WINDOWEND + 10000 AS endtime
  FROM bid WINDOW SESSION (10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY bidder EMIT FINAL;
