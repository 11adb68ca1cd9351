-- title: highest bid
-- rewritten: of the ten highest bids of a window those that are the highest, instead of a join with the maximum
-- each: items
CREATE TABLE answers WITH (kafka_topic='{run}-out', format='JSON') AS
  SELECT auction * 0 AS k, TRANSFORM(
    FILTER(TOPK(price, auction, bidder, dateTime, extra, 10), x => x->`sort_col` = MAX(price)),
    x => STRUCT(auction := x->`col0`, price := x->`sort_col`, bidder := x->`col1`, dateTime := x->`col2`, extra := x->`col3`)
  ) AS items
  FROM bid WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY auction * 0 EMIT FINAL;
