-- title: auction statistics
-- rewritten: FILTER as CASE. Flink: the average is DOUBLE
CREATE TABLE answers WITH (kafka_topic='{run}-out', format='JSON') AS
  SELECT auction AS k, FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd') AS k2,
    AS_VALUE(auction) AS auction, AS_VALUE(FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd')) AS bid_day, COUNT(*) AS total,
    SUM(CASE WHEN price < 10000 THEN 1 ELSE 0 END) AS rank1,
    SUM(CASE WHEN price >= 10000 AND price < 1000000 THEN 1 ELSE 0 END) AS rank2,
    SUM(CASE WHEN price >= 1000000 THEN 1 ELSE 0 END) AS rank3,
    MIN(price) AS min_price, MAX(price) AS max_price, AVG(price) AS avg_price, SUM(price) AS sum_price
  FROM bid GROUP BY auction, FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd');
