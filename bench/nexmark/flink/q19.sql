CREATE TABLE answers (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, `dateTime` BIGINT, extra STRING, rank_number BIGINT,
  PRIMARY KEY (auction, rank_number) NOT ENFORCED
) WITH ({upsert});

INSERT INTO answers SELECT auction, bidder, price, channel, url, `dateTime`, extra, rank_number FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC, `dateTime` ASC) AS rank_number FROM bid
) WHERE rank_number <= 10;
