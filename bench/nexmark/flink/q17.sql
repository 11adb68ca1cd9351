CREATE TABLE answers (
  auction BIGINT, bid_day STRING, total BIGINT, rank1 BIGINT, rank2 BIGINT, rank3 BIGINT,
  min_price BIGINT, max_price BIGINT, avg_price DOUBLE, sum_price BIGINT, PRIMARY KEY (auction, bid_day) NOT ENFORCED
) WITH ({upsert});

INSERT INTO answers SELECT auction, DATE_FORMAT(ts, 'yyyy-MM-dd'), COUNT(*),
  COUNT(*) FILTER (WHERE price < 10000),
  COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000),
  COUNT(*) FILTER (WHERE price >= 1000000),
  MIN(price), MAX(price), AVG(CAST(price AS DOUBLE)), SUM(price)
FROM bid GROUP BY auction, DATE_FORMAT(ts, 'yyyy-MM-dd');
