SELECT * FROM one;
-- → whole table
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM one WHERE id = 10;
-- → keys (10)
-- → without scans: keys (10)

SELECT * FROM one WHERE 10 = id AND n > 1;
-- → keys (10), each row asked
-- → without scans: keys (10), each row asked

SELECT * FROM one WHERE id = 10 + 1;
-- → keys (TypedArithmetic)
-- → without scans: keys (TypedArithmetic)

SELECT * FROM one WHERE id IN (1, 2, 3);
-- → keys (1, 2, 3)
-- → without scans: keys (1, 2, 3)

SELECT * FROM one WHERE id = 1 OR id = 2 OR id IN (3, 4);
-- → keys (1); keys (2); keys (3, 4)
-- → without scans: keys (1); keys (2); keys (3, 4)

SELECT * FROM one WHERE id = 1 OR n = 2;
-- → whole table, each row asked
-- → without scans: line 1:1: WHERE clause missing key column for disjunct.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM one WHERE (id = 1 OR id = 2) AND n = 2;
-- → keys (1); keys (2), each row asked
-- → without scans: keys (1); keys (2), each row asked

SELECT * FROM one WHERE id = 10000000000;
-- → line 1:1: '10000000000' can not be converted to the type of the key column: ID INTEGER KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others
-- → without scans: line 1:1: '10000000000' can not be converted to the type of the key column: ID INTEGER KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others

SELECT * FROM one WHERE id < 10;
-- → range key < 10, each row asked
-- → without scans: line 1:1: Bound on key columns '[`ID` INTEGER KEY]' must currently be '='.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM one WHERE 5 <= id AND id < 10;
-- → range key >= 5 key < 10, each row asked
-- → without scans: line 1:1: A comparison condition on the key column cannot be combined with other comparisons such as an IN predicate
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM one WHERE id = 5 AND id < 10;
-- → keys (5), each row asked
-- → without scans: line 1:1: A comparison condition on the key column cannot be combined with other comparisons such as an IN predicate
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM one WHERE id = 5 AND id IN (1, 5);
-- → keys (5), each row asked
-- → without scans: line 1:1: A comparison condition on the key column cannot be combined with other comparisons such as an IN predicate
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM one WHERE id != 5;
-- → whole table, each row asked
-- → without scans: line 1:1: Bound on key columns '[`ID` INTEGER KEY]' must currently be '='.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM one WHERE id = n;
-- → whole table, each row asked
-- → without scans: line 1:1: A comparison must be between a key column and a resolvable expression.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM one WHERE id + 1 = 5;
-- → whole table, each row asked
-- → without scans: line 1:1: A comparison must directly reference a key column.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM one WHERE n = 5;
-- → whole table, each row asked
-- → without scans: line 1:1: WHERE clause missing key column for disjunct.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM one WHERE id IN (1, n);
-- → whole table, each row asked
-- → without scans: line 1:1: A comparison must be between a key column and a resolvable expression.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM one WHERE id BETWEEN 1 AND 5;
-- → range key >= 1 key <= 5, each row asked
-- → without scans: line 1:1: A comparison condition on the key column cannot be combined with other comparisons such as an IN predicate
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM one WHERE id = '5';
-- → line 1:25: Error in WHERE expression: Cannot compare ID (INTEGER) to '5' (STRING) with EQUAL.
-- →   hint: CAST one to the other's type
-- → without scans: line 1:25: Error in WHERE expression: Cannot compare ID (INTEGER) to '5' (STRING) with EQUAL.
-- →   hint: CAST one to the other's type

SELECT * FROM one WHERE id = NULL;
-- → line 1:25: Error in WHERE expression: Comparison with NULL not supported: INTEGER = NULL
-- →   hint: Use 'IS NULL' or 'IS NOT NULL' instead.
-- → without scans: line 1:25: Error in WHERE expression: Comparison with NULL not supported: INTEGER = NULL
-- →   hint: Use 'IS NULL' or 'IS NOT NULL' instead.

SELECT * FROM one WHERE CAST(id AS STRING) = '5';
-- → whole table, each row asked
-- → without scans: line 1:1: A comparison must directly reference a key column.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM txt WHERE s > 'm';
-- → range key > 'm', each row asked
-- → without scans: range key > 'm', each row asked

SELECT * FROM txt WHERE s LIKE 'm%';
-- → whole table, each row asked
-- → without scans: line 1:1: A Like condition is evaluated for every row of the table.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM two WHERE id = 1 AND s = 'x';
-- → keys (1) x ('x')
-- → without scans: keys (1) x ('x')

SELECT * FROM two WHERE id IN (1, 2) AND s IN ('x', 'y');
-- → keys (1, 2) x ('x', 'y')
-- → without scans: keys (1, 2) x ('x', 'y')

SELECT * FROM two WHERE id = 1;
-- → whole table, each row asked
-- → without scans: line 1:1: Multi-column sources must specify every key in the WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM two WHERE id > 1 AND s > 'x';
-- → whole table, each row asked
-- → without scans: line 1:1: Bound on key columns '[`ID` INTEGER KEY, `S` STRING KEY]' must currently be '='.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM win WHERE id = 1;
-- → keys (1)
-- → without scans: keys (1)

SELECT * FROM win WHERE id = 1 AND WINDOWSTART >= 1000 AND 5000 > WINDOWEND;
-- → keys (1) wstart >= 1000 wend < 5000
-- → without scans: keys (1) wstart >= 1000 wend < 5000

SELECT * FROM win WHERE id = 1 AND WINDOWSTART = '2026-07-01T12:00';
-- → keys (1) wstart = 1782907200000
-- → without scans: keys (1) wstart = 1782907200000

SELECT * FROM win WHERE WINDOWSTART > 1000;
-- → whole table wstart > 1000, each row asked
-- → without scans: line 1:1: WHERE clause missing key column for disjunct.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM src WHERE id = 1;
-- → keys (1)
-- → without scans: keys (1)

SELECT * FROM srcjson WHERE id = 1;
-- → whole table, each row asked
-- → without scans: whole table, each row asked

SELECT * FROM declared WHERE id = 1;
-- → line 1:1: The DECLARED table isn't queryable. To derive a queryable table, you can do 'CREATE TABLE QUERYABLE_DECLARED AS SELECT * FROM DECLARED'
-- →   hint: or declare it as CREATE SOURCE TABLE
-- → without scans: line 1:1: The DECLARED table isn't queryable. To derive a queryable table, you can do 'CREATE TABLE QUERYABLE_DECLARED AS SELECT * FROM DECLARED'
-- →   hint: or declare it as CREATE SOURCE TABLE

SELECT id, n, ROWPARTITION FROM one;
-- → line 1:15: Pull queries don't support the following columns in SELECT clauses: `ROWPARTITION`
-- →   hint: add EMIT CHANGES if you intended to issue a push query
-- → without scans: line 1:15: Pull queries don't support the following columns in SELECT clauses: `ROWPARTITION`
-- →   hint: add EMIT CHANGES if you intended to issue a push query

SELECT id FROM one WHERE ROWOFFSET > 2;
-- → line 1:26: Pull queries don't support the following columns in WHERE clauses: `ROWOFFSET`
-- →   hint: add EMIT CHANGES if you intended to issue a push query
-- → without scans: line 1:26: Pull queries don't support the following columns in WHERE clauses: `ROWOFFSET`
-- →   hint: add EMIT CHANGES if you intended to issue a push query

SELECT n, n FROM one;
-- → line 1:11: Duplicate value columns found in schema: `N` BIGINT
-- →   hint: give one of them an alias
-- → without scans: line 1:11: Duplicate value columns found in schema: `N` BIGINT
-- →   hint: give one of them an alias

SELECT id, COUNT(*) FROM one GROUP BY id;
-- → whole table
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT id FROM one PARTITION BY n;
-- → line 1:1: Pull queries don't support PARTITION BY clauses.
-- →   hint: add EMIT CHANGES if you intended to issue a push query, or query a table that CREATE TABLE … AS creates
-- → without scans: line 1:1: Pull queries don't support PARTITION BY clauses.
-- →   hint: add EMIT CHANGES if you intended to issue a push query, or query a table that CREATE TABLE … AS creates

SELECT id FROM one WINDOW TUMBLING (SIZE 1 HOUR) WHERE id = 1;
-- → line 1:1: Pull queries don't support WINDOW clauses.
-- →   hint: add EMIT CHANGES if you intended to issue a push query, or query a table that CREATE TABLE … AS creates
-- → without scans: line 1:1: Pull queries don't support WINDOW clauses.
-- →   hint: add EMIT CHANGES if you intended to issue a push query, or query a table that CREATE TABLE … AS creates

SELECT n AS a, id FROM one WHERE id = 1 LIMIT 1;
-- → keys (1)
-- → without scans: keys (1)

SELECT * FROM one WHERE id IN (1, NULL);
-- → line 1:35: Comparison with NULL not supported: INTEGER = NULL
-- →   hint: Use 'IS NULL' or 'IS NOT NULL' instead.
-- → without scans: line 1:35: Comparison with NULL not supported: INTEGER = NULL
-- →   hint: Use 'IS NULL' or 'IS NOT NULL' instead.

SELECT * FROM one WHERE id IN (1, '2');
-- → line 1:35: Cannot compare ID (INTEGER) to '2' (STRING) with EQUAL.
-- →   hint: CAST one to the other's type
-- → without scans: line 1:35: Cannot compare ID (INTEGER) to '2' (STRING) with EQUAL.
-- →   hint: CAST one to the other's type

SELECT * FROM txt WHERE s IN ('a', 1);
-- → line 1:36: Cannot compare S (STRING) to 1 (INTEGER) with EQUAL.
-- →   hint: CAST one to the other's type
-- → without scans: line 1:36: Cannot compare S (STRING) to 1 (INTEGER) with EQUAL.
-- →   hint: CAST one to the other's type

SELECT * FROM one WHERE n IN (NULL);
-- → line 1:31: Comparison with NULL not supported: BIGINT = NULL
-- →   hint: Use 'IS NULL' or 'IS NOT NULL' instead.
-- → without scans: line 1:31: Comparison with NULL not supported: BIGINT = NULL
-- →   hint: Use 'IS NULL' or 'IS NOT NULL' instead.

SELECT * FROM two WHERE id IN (1, NULL) AND s IN ('a');
-- → line 1:35: Comparison with NULL not supported: INTEGER = NULL
-- →   hint: Use 'IS NULL' or 'IS NOT NULL' instead.
-- → without scans: line 1:35: Comparison with NULL not supported: INTEGER = NULL
-- →   hint: Use 'IS NULL' or 'IS NOT NULL' instead.

SELECT * FROM one WHERE id IN (1.5, 2);
-- → line 1:1: '1.5' can not be converted to the type of the key column: ID INTEGER KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others
-- → without scans: line 1:1: '1.5' can not be converted to the type of the key column: ID INTEGER KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others

SELECT * FROM one WHERE NOT id IN (1, '2');
-- → line 1:39: Cannot compare ID (INTEGER) to '2' (STRING) with EQUAL.
-- →   hint: CAST one to the other's type
-- → without scans: line 1:39: Cannot compare ID (INTEGER) to '2' (STRING) with EQUAL.
-- →   hint: CAST one to the other's type

SELECT * FROM txt WHERE s > 'a';
-- → range key > 'a', each row asked
-- → without scans: range key > 'a', each row asked

SELECT * FROM wtxt WHERE s > 'a';
-- → range key > 'a', each row asked
-- → without scans: line 1:1: Bound on key columns '[`S` STRING KEY]' must currently be '='.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM wtxt WHERE s > 'a' AND WINDOWSTART > 10;
-- → range key > 'a' wstart > 10, each row asked
-- → without scans: line 1:1: Bound on key columns '[`S` STRING KEY]' must currently be '='.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM wtxt WHERE s = 'a' AND WINDOWSTART > 10;
-- → keys ('a') wstart > 10
-- → without scans: keys ('a') wstart > 10

SELECT * FROM many WHERE i = 1;
-- → index BY_I (1), each row asked
-- → without scans: index BY_I (1), each row asked

SELECT * FROM many WHERE 1 = i AND d > 2;
-- → index BY_I (1), each row asked
-- → without scans: index BY_I (1), each row asked

SELECT * FROM many WHERE i IN (1, 2) AND t = 'a';
-- → index BY_I_T (1, 2) x ('a'), each row asked
-- → without scans: index BY_I_T (1, 2) x ('a'), each row asked

SELECT * FROM many WHERE i = 1 AND t IN ('a', 'b') OR t = 'c' AND i = 2;
-- → index BY_I_T (1) x ('a', 'b') or (2) x ('c'), each row asked
-- → without scans: index BY_I_T (1) x ('a', 'b') or (2) x ('c'), each row asked

SELECT * FROM many WHERE i = 1 OR i = 2 OR i IN (3, 4);
-- → index BY_I (1) or (2) or (3, 4), each row asked
-- → without scans: index BY_I (1) or (2) or (3, 4), each row asked

SELECT * FROM many WHERE i = 1 OR l = 2;
-- → whole table, each row asked
-- → without scans: line 1:1: WHERE clause missing key column for disjunct.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM many WHERE i = 1 OR i > 5;
-- → whole table, each row asked
-- → without scans: line 1:1: WHERE clause missing key column for disjunct.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM many WHERE i > 1 AND i <= 1 + 1;
-- → index BY_I > 1 <= TypedArithmetic, each row asked
-- → without scans: index BY_I > 1 <= TypedArithmetic, each row asked

SELECT * FROM many WHERE t BETWEEN 'a' AND 'b';
-- → index BY_T >= 'a' <= 'b', each row asked
-- → without scans: index BY_T >= 'a' <= 'b', each row asked

SELECT * FROM many WHERE i > 1 AND t = 'a';
-- → index BY_T ('a'), each row asked
-- → without scans: index BY_T ('a'), each row asked

SELECT * FROM many WHERE i = 1.5;
-- → index BY_I (Decimal('1.5')), each row asked
-- → without scans: index BY_I (Decimal('1.5')), each row asked

SELECT * FROM many WHERE i = 1E0;
-- → index BY_I (1.0), each row asked
-- → without scans: index BY_I (1.0), each row asked

SELECT * FROM many WHERE l = 1E0;
-- → whole table, each row asked
-- → without scans: line 1:1: WHERE clause missing key column for disjunct.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM many WHERE e = 1E0;
-- → whole table, each row asked
-- → without scans: line 1:1: WHERE clause missing key column for disjunct.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM many WHERE e = 1;
-- → index BY_E (Decimal('1')), each row asked
-- → without scans: index BY_E (Decimal('1')), each row asked

SELECT * FROM many WHERE e > 1.125;
-- → index BY_E > Decimal('1.125'), each row asked
-- → without scans: index BY_E > Decimal('1.125'), each row asked

SELECT * FROM many WHERE d = 1;
-- → index BY_D (1.0), each row asked
-- → without scans: index BY_D (1.0), each row asked

SELECT * FROM many WHERE l = 10000000000;
-- → index BY_L (10000000000), each row asked
-- → without scans: index BY_L (10000000000), each row asked

SELECT * FROM many WHERE w = '2020-01-01T00:00:00';
-- → index BY_W (1577836800000), each row asked
-- → without scans: index BY_W (1577836800000), each row asked

SELECT * FROM many WHERE arr = ARRAY[1, 2];
-- → index BY_ARR (TypedArray), each row asked
-- → without scans: index BY_ARR (TypedArray), each row asked

SELECT * FROM many WHERE i <> 1;
-- → whole table, each row asked
-- → without scans: line 1:1: WHERE clause missing key column for disjunct.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM many WHERE NOT (i = 1);
-- → whole table, each row asked
-- → without scans: line 1:1: WHERE clause missing key column for disjunct.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM many WHERE i = l;
-- → whole table, each row asked
-- → without scans: line 1:1: WHERE clause missing key column for disjunct.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM many WHERE i IS NULL;
-- → whole table, each row asked
-- → without scans: line 1:1: WHERE clause missing key column for disjunct.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM many WHERE i + 0 = 1;
-- → whole table, each row asked
-- → without scans: line 1:1: WHERE clause missing key column for disjunct.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM many WHERE i IS NOT DISTINCT FROM 1;
-- → whole table, each row asked
-- → without scans: line 1:1: WHERE clause missing key column for disjunct.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM many WHERE id = 1 AND i = 1;
-- → keys (1), each row asked
-- → without scans: keys (1), each row asked

SELECT * FROM many WHERE id > 1 AND i = 1;
-- → index BY_I (1) in the order of a range, each row asked
-- → without scans: index BY_I (1) in the order of a range, each row asked

SELECT * FROM many WHERE id > 1 AND i > 1;
-- → range key > 1, each row asked
-- → without scans: line 1:1: Bound on key columns '[`ID` INTEGER KEY]' must currently be '='.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM many WHERE id = 1 OR i = 1;
-- → whole table, each row asked
-- → without scans: line 1:1: WHERE clause missing key column for disjunct.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM grouped WHERE v = 1;
-- → index BY_V (1), each row asked
-- → without scans: index BY_V (1), each row asked

SELECT * FROM grouped WHERE v = 1 AND id = 2;
-- → keys (2) x (1)
-- → without scans: keys (2) x (1)

SELECT * FROM windowed WHERE n = 1 AND WINDOWSTART >= 1000;
-- → index BY_N (1) wstart >= 1000, each row asked
-- → without scans: index BY_N (1) wstart >= 1000, each row asked

SELECT * FROM windowed WHERE n = 1 AND WINDOWSTART >= 1000 OR n = 2;
-- → index BY_N (1) or (2), each row asked
-- → without scans: index BY_N (1) or (2), each row asked

SELECT * FROM one WHERE id = 1.0;
-- → line 1:1: '1.0' can not be converted to the type of the key column: ID INTEGER KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others
-- → without scans: line 1:1: '1.0' can not be converted to the type of the key column: ID INTEGER KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others

SELECT * FROM one WHERE id = 1E0;
-- → line 1:1: '1.0' can not be converted to the type of the key column: ID INTEGER KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others
-- → without scans: line 1:1: '1.0' can not be converted to the type of the key column: ID INTEGER KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others

SELECT * FROM one WHERE id = CAST(1 AS BIGINT);
-- → line 1:1: a BIGINT can not be converted to the type of the key column: ID INTEGER KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others
-- → without scans: line 1:1: a BIGINT can not be converted to the type of the key column: ID INTEGER KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others

SELECT * FROM one WHERE id IN (1, 10000000000);
-- → line 1:1: '10000000000' can not be converted to the type of the key column: ID INTEGER KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others
-- → without scans: line 1:1: '10000000000' can not be converted to the type of the key column: ID INTEGER KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others

SELECT * FROM one WHERE id IN (1, 2) OR id = 2.5;
-- → line 1:1: '2.5' can not be converted to the type of the key column: ID INTEGER KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others
-- → without scans: line 1:1: '2.5' can not be converted to the type of the key column: ID INTEGER KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others

SELECT * FROM one WHERE id < 2.5;
-- → line 1:1: '2.5' can not be converted to the type of the key column: ID INTEGER KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others
-- → without scans: line 1:1: Bound on key columns '[`ID` INTEGER KEY]' must currently be '='.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM one WHERE id = 1.0 OR n = 2;
-- → whole table, each row asked
-- → without scans: line 1:1: WHERE clause missing key column for disjunct.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM one WHERE id = 1.0 AND n = 2;
-- → line 1:1: '1.0' can not be converted to the type of the key column: ID INTEGER KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others
-- → without scans: line 1:1: '1.0' can not be converted to the type of the key column: ID INTEGER KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others

SELECT * FROM one WHERE id = 1.0 AND n + 1 = 2;
-- → keys (Decimal('1.0')), each row asked
-- → without scans: keys (Decimal('1.0')), each row asked

SELECT * FROM one WHERE id != 1.0;
-- → whole table, each row asked
-- → without scans: line 1:1: Bound on key columns '[`ID` INTEGER KEY]' must currently be '='.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM one WHERE CAST(id AS DECIMAL(5, 1)) = 1.0;
-- → keys (Decimal('1.0'))
-- → without scans: keys (Decimal('1.0'))

SELECT * FROM src WHERE id = 1;
-- → keys (1)
-- → without scans: keys (1)

SELECT * FROM src WHERE id = 1.0;
-- → line 1:1: '1.0' can not be converted to the type of the key column: ID BIGINT KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others
-- → without scans: line 1:1: '1.0' can not be converted to the type of the key column: ID BIGINT KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others

SELECT * FROM two WHERE id = 1.5 AND s = 'x';
-- → line 1:1: '1.5' can not be converted to the type of the key column: ID INTEGER KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others
-- → without scans: line 1:1: '1.5' can not be converted to the type of the key column: ID INTEGER KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others

SELECT * FROM two WHERE id = 1.5;
-- → whole table, each row asked
-- → without scans: line 1:1: Multi-column sources must specify every key in the WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM money WHERE price = 1;
-- → whole table, each row asked
-- → without scans: whole table, each row asked

SELECT * FROM money WHERE price = 1.5;
-- → whole table, each row asked
-- → without scans: whole table, each row asked

SELECT * FROM money WHERE price IN (1, 1.250);
-- → whole table, each row asked
-- → without scans: whole table, each row asked

SELECT * FROM money WHERE price = 1.255;
-- → line 1:1: '1.255' can not be converted to the type of the key column: PRICE DECIMAL(4, 2) KEY
-- →   hint: a key is looked up by its own type; CAST(PRICE AS …) compares it with others
-- → without scans: line 1:1: '1.255' can not be converted to the type of the key column: PRICE DECIMAL(4, 2) KEY
-- →   hint: a key is looked up by its own type; CAST(PRICE AS …) compares it with others

SELECT * FROM money WHERE price = 100;
-- → line 1:1: '100' can not be converted to the type of the key column: PRICE DECIMAL(4, 2) KEY
-- →   hint: a key is looked up by its own type; CAST(PRICE AS …) compares it with others
-- → without scans: line 1:1: '100' can not be converted to the type of the key column: PRICE DECIMAL(4, 2) KEY
-- →   hint: a key is looked up by its own type; CAST(PRICE AS …) compares it with others

SELECT * FROM money WHERE price = 1E0;
-- → line 1:1: '1.0' can not be converted to the type of the key column: PRICE DECIMAL(4, 2) KEY
-- →   hint: a key is looked up by its own type; CAST(PRICE AS …) compares it with others
-- → without scans: line 1:1: '1.0' can not be converted to the type of the key column: PRICE DECIMAL(4, 2) KEY
-- →   hint: a key is looked up by its own type; CAST(PRICE AS …) compares it with others

SELECT * FROM real WHERE d = 1;
-- → keys (1.0)
-- → without scans: keys (1.0)

SELECT * FROM real WHERE d = 1.5;
-- → keys (1.5)
-- → without scans: keys (1.5)

SELECT * FROM real WHERE d = 10000000000;
-- → keys (10000000000.0)
-- → without scans: keys (10000000000.0)

SELECT * FROM one WHERE id IN (1, 2 - 4);
-- → keys (1, TypedArithmetic)
-- → without scans: keys (1, TypedArithmetic)

SELECT * FROM one WHERE id = 1 + 1.5;
-- → line 1:1: a DECIMAL(12, 1) can not be converted to the type of the key column: ID INTEGER KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others
-- → without scans: line 1:1: a DECIMAL(12, 1) can not be converted to the type of the key column: ID INTEGER KEY
-- →   hint: a key is looked up by its own type; CAST(ID AS …) compares it with others

SELECT * FROM money WHERE price = 1 + 1;
-- → whole table, each row asked
-- → without scans: whole table, each row asked

SELECT * FROM money WHERE price = CAST(1 AS DOUBLE);
-- → line 1:1: a DOUBLE can not be converted to the type of the key column: PRICE DECIMAL(4, 2) KEY
-- →   hint: a key is looked up by its own type; CAST(PRICE AS …) compares it with others
-- → without scans: line 1:1: a DOUBLE can not be converted to the type of the key column: PRICE DECIMAL(4, 2) KEY
-- →   hint: a key is looked up by its own type; CAST(PRICE AS …) compares it with others

SELECT * FROM src WHERE id = 1 + 1;
-- → keys (TypedCast)
-- → without scans: keys (TypedCast)
