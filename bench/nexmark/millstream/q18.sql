-- title: find last bid
-- rewritten: GROUP BY and the latest values instead of ROW_NUMBER
CREATE TABLE answers WITH (kafka_topic='{run}-out', format='JSON') AS
  SELECT bidder AS k, auction AS k2, AS_VALUE(bidder) AS bidder, AS_VALUE(auction) AS auction,
    LATEST_BY_OFFSET(price) AS price,
    LATEST_BY_OFFSET(channel) AS channel,
    LATEST_BY_OFFSET(url) AS url,
    LATEST_BY_OFFSET(dateTime) AS dateTime,
    LATEST_BY_OFFSET(extra) AS extra
  FROM bid GROUP BY bidder, auction;
