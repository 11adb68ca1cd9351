CREATE TABLE answers (auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` BIGINT, extra STRING) WITH ({append});

INSERT INTO answers SELECT auction, bidder, price, `dateTime`, extra FROM bid;
