SELECT id, n, id AS other FROM one;
-- → `ID` INTEGER KEY, `N` BIGINT, `OTHER` INTEGER

SELECT id AS other FROM one;
-- → `OTHER` INTEGER

SELECT n AS id FROM one;
-- → `ID` BIGINT KEY

SELECT n + 1 AS id, id AS n FROM one;
-- → `ID` BIGINT KEY, `N` INTEGER

SELECT id, id FROM one;
-- → line 1:12: Duplicate key columns found in schema: `ID` INTEGER KEY
-- →   hint: give one of them an alias

SELECT n AS id, id FROM one;
-- → line 1:17: Duplicate key columns found in schema: `ID` INTEGER KEY
-- →   hint: give one of them an alias

SELECT id AS x, n AS x FROM one;
-- → line 1:17: Duplicate value columns found in schema: `X` BIGINT
-- →   hint: give one of them an alias

SELECT n, n FROM one;
-- → line 1:11: Duplicate value columns found in schema: `N` BIGINT
-- →   hint: give one of them an alias

SELECT * FROM win;
-- → `ID` INTEGER KEY, `WINDOWSTART` BIGINT KEY, `WINDOWEND` BIGINT KEY, `N` BIGINT

SELECT WINDOWSTART, WINDOWEND AS ended, id FROM win;
-- → `WINDOWSTART` BIGINT KEY, `ENDED` BIGINT, `ID` INTEGER KEY

SELECT *, WINDOWEND FROM win;
-- → line 1:11: Duplicate key columns found in schema: `WINDOWEND` BIGINT KEY
-- →   hint: give one of them an alias

SELECT id, ROWTIME, v FROM a;
-- → `ID` INTEGER, `ROWTIME` BIGINT, `V` INTEGER

SELECT ROWKEY.f, ROWVALUE.f FROM b EMIT CHANGES;
-- → `F` INTEGER, `F` STRING

SELECT ROWKEY.f, ROWVALUE.f, ROWKEY.f FROM b EMIT CHANGES;
-- → line 1:30: Duplicate key columns found in schema: `F` INTEGER KEY
-- →   hint: give one of them an alias

SELECT ROWVALUE.f, ROWKEY.f FROM both;
-- → `F` STRING, `F` INTEGER KEY

SELECT id AS x, id AS y FROM a EMIT CHANGES;
-- → `X` INTEGER, `Y` INTEGER

SELECT id, id FROM a EMIT CHANGES;
-- → line 1:12: Duplicate key columns found in schema: `ID` INTEGER KEY
-- →   hint: give one of them an alias

SELECT id AS x, s AS x FROM a EMIT CHANGES;
-- → line 1:17: Duplicate value columns found in schema: `X` STRING
-- →   hint: give one of them an alias

SELECT s AS id, id FROM a EMIT CHANGES;
-- → line 1:17: Duplicate value columns found in schema: `ID` INTEGER
-- →   hint: give one of them an alias

SELECT id, COUNT(*) AS id FROM a GROUP BY id EMIT CHANGES;
-- → line 1:12: Duplicate value columns found in schema: `ID` BIGINT
-- →   hint: give one of them an alias
