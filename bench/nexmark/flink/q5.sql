CREATE TABLE answers (starts BIGINT, auction BIGINT, num BIGINT) WITH ({append});

INSERT INTO answers
SELECT TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', AuctionBids.window_start) * CAST(1000 AS BIGINT),
  AuctionBids.auction, AuctionBids.num FROM (
  SELECT auction, count(*) AS num, window_start, window_end
  FROM TABLE(HOP(TABLE bid, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
  GROUP BY auction, window_start, window_end
) AS AuctionBids JOIN (
  SELECT max(CountBids.num) AS maxn, CountBids.window_start, CountBids.window_end FROM (
    SELECT count(*) AS num, window_start, window_end
    FROM TABLE(HOP(TABLE bid, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
    GROUP BY auction, window_start, window_end
  ) AS CountBids GROUP BY CountBids.window_start, CountBids.window_end
) AS MaxBids
ON AuctionBids.window_start = MaxBids.window_start AND AuctionBids.window_end = MaxBids.window_end
  AND AuctionBids.num >= MaxBids.maxn;
