-- title: channel statistics
-- coalesced: 200
CREATE TABLE answers WITH (kafka_topic='{run}-out', format='JSON') AS
  SELECT channel AS k, FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd') AS d, AS_VALUE(channel) AS channel, AS_VALUE(FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd')) AS bid_day,
    MAX(FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'HH:mm')) AS bid_minute,
    COUNT(*) AS total_bids,
    COUNT(*) FILTER (WHERE price < 10000) AS rank1_bids,
    COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
    COUNT(*) FILTER (WHERE price >= 1000000) AS rank3_bids,
    COUNT(DISTINCT bidder) AS total_bidders,
    COUNT(DISTINCT bidder) FILTER (WHERE price < 10000) AS rank1_bidders,
    COUNT(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bidders,
    COUNT(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS rank3_bidders,
    COUNT(DISTINCT auction) AS total_auctions,
    COUNT(DISTINCT auction) FILTER (WHERE price < 10000) AS rank1_auctions,
    COUNT(DISTINCT auction) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_auctions,
    COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS rank3_auctions
  FROM bid GROUP BY channel, FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd');
