CREATE TABLE answers (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, `dateTime` BIGINT, extra STRING,
  PRIMARY KEY (bidder, auction) NOT ENFORCED
) WITH ({upsert});

INSERT INTO answers SELECT auction, bidder, price, channel, url, `dateTime`, extra FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY ts DESC) AS rank_number FROM bid
) WHERE rank_number <= 1;
