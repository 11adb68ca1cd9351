CREATE TABLE answers (
  id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, `dateTime` BIGINT, expires BIGINT,
  seller BIGINT, category BIGINT, extra STRING, bidder BIGINT, price BIGINT, bid_dateTime BIGINT, bid_extra STRING,
  PRIMARY KEY (id) NOT ENFORCED
) WITH ({upsert});

INSERT INTO answers SELECT id, itemName, description, initialBid, reserve, `dateTime`, expires, seller, category, extra,
  bidder, price, bid_dateTime, bid_extra FROM (
  SELECT A.*, B.bidder, B.price, B.`dateTime` AS bid_dateTime, B.extra AS bid_extra,
    ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.`dateTime` ASC) AS rownum
  FROM auction A, bid B WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires
) WHERE rownum <= 1;
