-- title: channel statistics
-- rewritten: exact COUNT(DISTINCT) by two levels of GROUP BY; one key of channel and day, as a join has one equality
CREATE TABLE totals WITH (kafka_topic='{run}-totals', format='JSON') AS
  SELECT CONCAT(channel, '|', FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd')) AS place, COUNT(*) AS total,
    SUM(CASE WHEN price < 10000 THEN 1 ELSE 0 END) AS rank1,
    SUM(CASE WHEN price >= 10000 AND price < 1000000 THEN 1 ELSE 0 END) AS rank2,
    SUM(CASE WHEN price >= 1000000 THEN 1 ELSE 0 END) AS rank3,
    MAX(FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'HH:mm')) AS bid_minute
  FROM bid GROUP BY CONCAT(channel, '|', FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd'));

CREATE TABLE bids_by_bidder WITH (kafka_topic='{run}-bids-by-bidder', format='JSON') AS
  SELECT CONCAT(channel, '|', FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd')) AS place, bidder, COUNT(*) AS total,
    SUM(CASE WHEN price < 10000 THEN 1 ELSE 0 END) AS rank1,
    SUM(CASE WHEN price >= 10000 AND price < 1000000 THEN 1 ELSE 0 END) AS rank2,
    SUM(CASE WHEN price >= 1000000 THEN 1 ELSE 0 END) AS rank3
  FROM bid GROUP BY CONCAT(channel, '|', FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd')), bidder;

CREATE TABLE bids_by_auction WITH (kafka_topic='{run}-bids-by-auction', format='JSON') AS
  SELECT CONCAT(channel, '|', FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd')) AS place, auction, COUNT(*) AS total,
    SUM(CASE WHEN price < 10000 THEN 1 ELSE 0 END) AS rank1,
    SUM(CASE WHEN price >= 10000 AND price < 1000000 THEN 1 ELSE 0 END) AS rank2,
    SUM(CASE WHEN price >= 1000000 THEN 1 ELSE 0 END) AS rank3
  FROM bid GROUP BY CONCAT(channel, '|', FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd')), auction;

CREATE TABLE bidders WITH (kafka_topic='{run}-bidders', format='JSON') AS
  SELECT place, COUNT(*) AS total_bidders,
    SUM(CASE WHEN rank1 > 0 THEN 1 ELSE 0 END) AS rank1_bidders,
    SUM(CASE WHEN rank2 > 0 THEN 1 ELSE 0 END) AS rank2_bidders,
    SUM(CASE WHEN rank3 > 0 THEN 1 ELSE 0 END) AS rank3_bidders
  FROM bids_by_bidder GROUP BY place;

CREATE TABLE auctions WITH (kafka_topic='{run}-auctions', format='JSON') AS
  SELECT place, COUNT(*) AS total_auctions,
    SUM(CASE WHEN rank1 > 0 THEN 1 ELSE 0 END) AS rank1_auctions,
    SUM(CASE WHEN rank2 > 0 THEN 1 ELSE 0 END) AS rank2_auctions,
    SUM(CASE WHEN rank3 > 0 THEN 1 ELSE 0 END) AS rank3_auctions
  FROM bids_by_auction GROUP BY place;

CREATE TABLE answers WITH (kafka_topic='{run}-out', format='JSON') AS
  SELECT t.place AS k, SPLIT(t.place, '|')[1] AS channel, SPLIT(t.place, '|')[2] AS bid_day, t.bid_minute AS bid_minute,
    t.total AS total_bids, t.rank1 AS rank1_bids, t.rank2 AS rank2_bids, t.rank3 AS rank3_bids,
    b.total_bidders AS total_bidders, b.rank1_bidders AS rank1_bidders, b.rank2_bidders AS rank2_bidders, b.rank3_bidders AS rank3_bidders,
    a.total_auctions AS total_auctions, a.rank1_auctions AS rank1_auctions, a.rank2_auctions AS rank2_auctions, a.rank3_auctions AS rank3_auctions
  FROM totals t JOIN bidders b ON t.place = b.place JOIN auctions a ON t.place = a.place;
