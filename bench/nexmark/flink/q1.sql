CREATE TABLE answers (auction BIGINT, bidder BIGINT, price DECIMAL(23, 3), `dateTime` BIGINT, extra STRING) WITH ({append});

INSERT INTO answers SELECT auction, bidder, 0.908 * price, `dateTime`, extra FROM bid;
