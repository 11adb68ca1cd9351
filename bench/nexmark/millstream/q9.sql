-- title: winning bids
-- rewritten: GROUP BY and the greatest number of price and time instead of ROW_NUMBER; the join has WITHIN 1 HOUR
-- each: best
CREATE TABLE answers WITH (kafka_topic='{run}-out', format='JSON') AS
  SELECT a.id AS k, AS_VALUE(a.id) AS id, LATEST_BY_OFFSET(a.itemName) AS itemName,
    LATEST_BY_OFFSET(a.description) AS description,
    LATEST_BY_OFFSET(a.initialBid) AS initialBid,
    LATEST_BY_OFFSET(a.reserve) AS reserve,
    LATEST_BY_OFFSET(a.dateTime) AS dateTime,
    LATEST_BY_OFFSET(a.expires) AS expires,
    LATEST_BY_OFFSET(a.seller) AS seller,
    LATEST_BY_OFFSET(a.category) AS category,
    LATEST_BY_OFFSET(a.extra) AS extra,
    TRANSFORM(
      TOPK(b.price * 10000000000 - b.dateTime % 10000000000, b.bidder, b.price, b.dateTime, b.extra, 1),
      x => STRUCT(bidder := x->`col0`, price := x->`col1`, bid_dateTime := x->`col2`, bid_extra := x->`col3`)
    ) AS best
  FROM auction a JOIN bid b WITHIN 1 HOUR GRACE PERIOD 1 DAY ON a.id = b.auction
  WHERE b.dateTime BETWEEN a.dateTime AND a.expires GROUP BY a.id;
