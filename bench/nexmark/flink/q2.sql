CREATE TABLE answers (auction BIGINT, price BIGINT) WITH ({append});

INSERT INTO answers SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0;
