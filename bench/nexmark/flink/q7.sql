CREATE TABLE answers (auction BIGINT, price BIGINT, bidder BIGINT, `dateTime` BIGINT, extra STRING) WITH ({append});

INSERT INTO answers SELECT B.auction, B.price, B.bidder, B.`dateTime`, B.extra FROM bid B JOIN (
  SELECT MAX(price) AS maxprice, window_end AS ends
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end
) B1 ON B.price = B1.maxprice
WHERE CAST(B.ts AS TIMESTAMP(3)) BETWEEN B1.ends - INTERVAL '10' SECOND AND B1.ends;
