-- title: channel statistics
-- rewritten: as 15
-- coalesced: 200
CREATE TABLE bidders WITH (kafka_topic='{run}-bidders', format='JSON') AS
  SELECT channel, bid_day, SUM(total) AS total_bids, SUM(rank1) AS rank1_bids, SUM(rank2) AS rank2_bids, SUM(rank3) AS rank3_bids,
    COUNT(*) AS total_bidders,
    SUM(CASE WHEN rank1 > 0 THEN 1 ELSE 0 END) AS rank1_bidders,
    SUM(CASE WHEN rank2 > 0 THEN 1 ELSE 0 END) AS rank2_bidders,
    SUM(CASE WHEN rank3 > 0 THEN 1 ELSE 0 END) AS rank3_bidders
  FROM (
    SELECT channel, FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd') AS bid_day, bidder, COUNT(*) AS total,
      SUM(CASE WHEN price < 10000 THEN 1 ELSE 0 END) AS rank1,
      SUM(CASE WHEN price >= 10000 AND price < 1000000 THEN 1 ELSE 0 END) AS rank2,
      SUM(CASE WHEN price >= 1000000 THEN 1 ELSE 0 END) AS rank3
    FROM bid GROUP BY channel, FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd'), bidder
  ) GROUP BY channel, bid_day;

CREATE TABLE auctions WITH (kafka_topic='{run}-auctions', format='JSON') AS
  SELECT channel, bid_day, COUNT(*) AS total_auctions,
    SUM(CASE WHEN rank1 > 0 THEN 1 ELSE 0 END) AS rank1_auctions,
    SUM(CASE WHEN rank2 > 0 THEN 1 ELSE 0 END) AS rank2_auctions,
    SUM(CASE WHEN rank3 > 0 THEN 1 ELSE 0 END) AS rank3_auctions
  FROM (
    SELECT channel, FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd') AS bid_day, auction,
      SUM(CASE WHEN price < 10000 THEN 1 ELSE 0 END) AS rank1,
      SUM(CASE WHEN price >= 10000 AND price < 1000000 THEN 1 ELSE 0 END) AS rank2,
      SUM(CASE WHEN price >= 1000000 THEN 1 ELSE 0 END) AS rank3
    FROM bid GROUP BY channel, FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd'), auction
  ) GROUP BY channel, bid_day;

CREATE TABLE latest WITH (kafka_topic='{run}-latest', format='JSON') AS
  SELECT channel, FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd') AS bid_day, MAX(FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'HH:mm')) AS bid_minute
  FROM bid GROUP BY channel, FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd');

CREATE TABLE answers WITH (kafka_topic='{run}-out', format='JSON') AS
  SELECT b.channel AS k, b.bid_day AS d, AS_VALUE(b.channel) AS channel, AS_VALUE(b.bid_day) AS bid_day, m.bid_minute AS bid_minute,
    b.total_bids AS total_bids, b.rank1_bids AS rank1_bids, b.rank2_bids AS rank2_bids, b.rank3_bids AS rank3_bids,
    b.total_bidders AS total_bidders, b.rank1_bidders AS rank1_bidders, b.rank2_bidders AS rank2_bidders, b.rank3_bidders AS rank3_bidders,
    a.total_auctions AS total_auctions, a.rank1_auctions AS rank1_auctions, a.rank2_auctions AS rank2_auctions, a.rank3_auctions AS rank3_auctions
  FROM bidders b JOIN latest m ON b.channel = m.channel AND b.bid_day = m.bid_day JOIN auctions a ON b.channel = a.channel AND b.bid_day = a.bid_day;
