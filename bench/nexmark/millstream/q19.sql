-- title: auction top-10 price
-- rewritten: GROUP BY and the ten greatest numbers of price and time instead of ROW_NUMBER. Flink: of equal prices the first
-- each: items rank_number
CREATE TABLE answers WITH (kafka_topic='{run}-out', format='JSON') AS
  SELECT auction AS k, AS_VALUE(auction) AS auction, TRANSFORM(
    TOPK(price * 10000000000 - dateTime % 10000000000, bidder, price, channel, url, dateTime, extra, 10),
    x => STRUCT(bidder := x->`col0`, price := x->`col1`, channel := x->`col2`, url := x->`col3`, dateTime := x->`col4`,
      extra := x->`col5`)
  ) AS items FROM bid GROUP BY auction;
