-- title: expand bid with auction
-- rewritten: the join has WITHIN 1 HOUR
CREATE STREAM answers WITH (kafka_topic='{run}-out', format='JSON') AS
  SELECT b.auction AS k, AS_VALUE(b.auction) AS auction, b.bidder AS bidder, b.price AS price, b.channel AS channel,
    b.url AS url, b.dateTime AS bid_dateTime, b.extra AS bid_extra, a.itemName AS itemName,
    a.description AS description, a.initialBid AS initialBid, a.reserve AS reserve, a.dateTime AS auction_dateTime,
    a.expires AS expires, a.seller AS seller, a.category AS category, a.extra AS auction_extra
  FROM bid b JOIN auction a WITHIN 1 HOUR GRACE PERIOD 1 DAY ON b.auction = a.id WHERE a.category = 10;
