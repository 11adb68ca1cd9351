SELECT id, n FROM one ORDER BY n DESC, id LIMIT 3;
-- → (ID INTEGER, N BIGINT)
-- → Take 3 rows
-- →   Sort by N DESC, ID, the first 3
-- →     Project ID, N
-- →       Rows of TABLE ONE: read the whole table
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT id, n FROM one ORDER BY n + 1 NULLS FIRST LIMIT 3 OFFSET 2;
-- → (ID INTEGER, N BIGINT)
-- → Project ID, N
-- →   Take 3 rows after 2
-- →     Sort by SORT_0 NULLS FIRST, the first 5
-- →       Project ID, N, N + 1 AS SORT_0
-- →         Rows of TABLE ONE: read the whole table
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM one WHERE id = 5 ORDER BY n;
-- → (ID INTEGER, N BIGINT)
-- → Sort by N
-- →   Project ID, N
-- →     Where ID = 5
-- →       Rows of TABLE ONE: look up ID of 5

SELECT * FROM one WHERE id > 5 AND n > 2 ORDER BY 2;
-- → (ID INTEGER, N BIGINT)
-- → Sort by N
-- →   Project ID, N
-- →     Where ID > 5 AND N > 2
-- →       Rows of TABLE ONE: read the keys with ID > 5
-- → without scans: line 1:1: Bound on key columns '[`ID` INTEGER KEY]' must currently be '='.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM win WHERE id = 1 AND WINDOWSTART >= 100 ORDER BY WINDOWSTART DESC;
-- → (ID INTEGER, WINDOWSTART BIGINT, WINDOWEND BIGINT, N BIGINT)
-- → Sort by WINDOWSTART DESC
-- →   Project ID, WINDOWSTART, WINDOWEND, N
-- →     Where ID = 1 AND WINDOWSTART >= 100
-- →       Rows of TABLE WIN: look up ID of 1, windows with WINDOWSTART >= 100

SELECT n, COUNT(*) AS c FROM one GROUP BY n HAVING COUNT(*) > 1 ORDER BY c DESC;
-- → (N BIGINT, C BIGINT)
-- → Sort by C DESC
-- →   Project N, COUNT(*) AS C
-- →     Where COUNT(*) > 1
-- →       Group by N: COUNT(*)
-- →         Rows of TABLE ONE: read the whole table
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT COUNT(*), COUNT(DISTINCT n) FROM one;
-- → (KSQL_COL_0 BIGINT, KSQL_COL_1 BIGINT)
-- → Project COUNT(*) AS KSQL_COL_0, COUNT(DISTINCT N) AS KSQL_COL_1
-- →   Group all: COUNT(*), COUNT(DISTINCT N)
-- →     Rows of TABLE ONE: read the whole table
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT n + 1 AS m, SUM(id) FROM one GROUP BY n + 1;
-- → (M BIGINT, KSQL_COL_0 INTEGER)
-- → Project N + 1 AS M, SUM(ID) AS KSQL_COL_0
-- →   Group by N + 1: SUM(ID)
-- →     Rows of TABLE ONE: read the whole table
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT DISTINCT n FROM one;
-- → (N BIGINT)
-- → Each row once
-- →   Project N
-- →     Rows of TABLE ONE: read the whole table
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT o.id, t.s, t.n FROM one o JOIN two t ON o.id = t.id WHERE o.n > 1 AND t.s = 'x' AND o.n < t.n;
-- → (O_ID INTEGER, S STRING, T_N BIGINT)
-- → Project O.ID AS O_ID, S, T.N AS T_N
-- →   Where O.N < T.N
-- →     Join (INNER) on O.ID = T.ID: by hash
-- →       Where O.N > 1
-- →         Rows of TABLE ONE: read the whole table
-- →       Where T.S = 'x'
-- →         Rows of TABLE TWO: read the whole table
-- → without scans: line 1:1: WHERE clause missing key column for disjunct.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM one o LEFT JOIN two t ON o.id = t.id AND t.n > 3 WHERE o.id = 7 AND t.s = 'x';
-- → (O_ID INTEGER, O_N BIGINT, T_ID INTEGER, T_S STRING, T_N BIGINT)
-- → Project O.ID AS O_ID, O.N AS O_N, T.ID AS T_ID, T.S AS T_S, T.N AS T_N
-- →   Where T.S = 'x'
-- →     Join (LEFT) on O.ID = T.ID AND T.N > 3: by hash
-- →       Where O.ID = 7
-- →         Rows of TABLE ONE: look up ID of 7
-- →       Rows of TABLE TWO: read the whole table
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM one o FULL JOIN two t ON o.n > t.n WHERE o.id = 7;
-- → (O_ID INTEGER, O_N BIGINT, T_ID INTEGER, T_S STRING, T_N BIGINT)
-- → Project O.ID AS O_ID, O.N AS O_N, T.ID AS T_ID, T.S AS T_S, T.N AS T_N
-- →   Where O.ID = 7
-- →     Join (FULL OUTER) on O.N > T.N: each pair
-- →       Rows of TABLE ONE: read the whole table
-- →       Rows of TABLE TWO: read the whole table
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT s, COUNT(*) AS c FROM one o RIGHT JOIN two t ON t.id = o.id GROUP BY s;
-- → (S STRING, C BIGINT)
-- → Project S, COUNT(*) AS C
-- →   Group by S: COUNT(*)
-- →     Join (RIGHT) on T.ID = O.ID: by hash
-- →       Rows of TABLE ONE: read the whole table
-- →       Rows of TABLE TWO: read the whole table
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT q.c FROM (SELECT n, COUNT(*) AS c FROM one GROUP BY n) AS q WHERE q.c > 1;
-- → (C BIGINT)
-- → Project C
-- →   Project N, COUNT(*) AS C
-- →     Where Q.C > 1
-- →       Group by N: COUNT(*)
-- →         Rows of TABLE ONE: read the whole table
-- → without scans: line 1:18: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

WITH q AS (SELECT n, COUNT(*) AS c FROM one GROUP BY n), r AS (SELECT MAX(c) AS top FROM q) SELECT q.n FROM q JOIN r ON q.c = r.top;
-- → (N BIGINT)
-- → Project N
-- →   Join (INNER) on Q.C = R.TOP: by hash
-- →     Project N, COUNT(*) AS C
-- →       Group by N: COUNT(*)
-- →         Rows of TABLE ONE: read the whole table
-- →     Project MAX(C) AS TOP
-- →       Group all: MAX(C)
-- →         Project N, COUNT(*) AS C
-- →           Group by N: COUNT(*)
-- →             Rows of TABLE ONE: read the whole table
-- → without scans: line 1:12: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT id FROM one UNION ALL SELECT n FROM two ORDER BY id DESC LIMIT 4;
-- → (ID BIGINT)
-- → Take 4 rows
-- →   Sort by ID DESC, the first 4
-- →     Project ID
-- →       Union
-- →         Project ID
-- →           Project ID
-- →             Rows of TABLE ONE: read the whole table
-- →         Project N AS ID
-- →           Project N
-- →             Rows of TABLE TWO: read the whole table
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT id, n FROM one UNION SELECT id, n FROM two;
-- → (ID INTEGER, N BIGINT)
-- → Project ID, N
-- →   Each row once
-- →     Union
-- →       Project ID, N
-- →         Rows of TABLE ONE: read the whole table
-- →       Project ID, N
-- →         Rows of TABLE TWO: read the whole table
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT id AS x FROM one ORDER BY x;
-- → (X INTEGER)
-- → Sort by X
-- →   Project ID AS X
-- →     Rows of TABLE ONE: read the whole table
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT MAX(n) - MIN(n) AS spread FROM one WHERE id IN (1, 2, 3);
-- → (SPREAD BIGINT)
-- → Project MAX(N) - MIN(N) AS SPREAD
-- →   Group all: MAX(N), MIN(N)
-- →     Where ID IN (1, 2, 3)
-- →       Rows of TABLE ONE: look up ID of 1, 2, 3

SELECT id FROM one UNION ALL SELECT s FROM two;
-- → line 1:30: column S of a UNION's branch is STRING, and INTEGER in those before it
-- →   hint: CAST one to the other's type
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT id FROM one UNION ALL SELECT id, n FROM two;
-- → line 1:30: a branch of a UNION has 2 columns, the first one has 1
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM one GROUP BY n;
-- → line 1:1: Pull queries don't support GROUP BY clauses without aggregate functions.
-- →   hint: SELECT DISTINCT gives each row once
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT n FROM one GROUP BY n;
-- → line 1:1: Pull queries don't support GROUP BY clauses without aggregate functions.
-- →   hint: SELECT DISTINCT gives each row once
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT n, COUNT(*) FROM one GROUP BY n HAVING id > 1;
-- → line 1:47: Non-aggregate HAVING expression not part of GROUP BY: ID
-- →   hint: a condition on single rows belongs in WHERE, before GROUP BY
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT id, COUNT(*) FROM one GROUP BY n;
-- → line 1:8: Non-aggregate SELECT expression(s) not part of GROUP BY: ID
-- →   hint: add it to the GROUP BY, or remove it
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT LATEST_BY_OFFSET(n) FROM one;
-- → line 1:8: LATEST_BY_OFFSET depends on the order of records, which the rows of a table do not have
-- →   hint: MIN, MAX or COLLECT_LIST
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT SUM(COUNT(*)) FROM one;
-- → line 1:12: Aggregate functions cannot be nested: SUM(COUNT(*))
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT id FROM one HAVING n > 1;
-- → line 1:27: HAVING needs GROUP BY or an aggregate function
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT o.id FROM one o JOIN one o ON o.id = o.id;
-- → line 1:29: two sources are named O
-- →   hint: give one of them an alias

SELECT id FROM one o JOIN two t ON o.id = t.id;
-- → line 1:8: Column 'ID' is ambiguous. Could be O.ID or T.ID.
-- →   hint: put the source's name before the column's
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT o.id FROM one o JOIN two t WITHIN 1 HOUR ON o.id = t.id;
-- → line 1:42: WITHIN is for joins of streams: tables are joined as they are now

SELECT o.id FROM one o JOIN a ON o.id = a.id;
-- → line 1:24: Pull queries don't support JOIN clauses.
-- →   hint: add EMIT CHANGES if you intended to issue a push query

SELECT id, v FROM a ORDER BY v;
-- → line 1:1: Pull queries don't support ORDER BY clauses.
-- →   hint: pull queries on tables have it, if millstream.pull.relational is true

SELECT id FROM a LIMIT 3 OFFSET 2;
-- → line 1:1: Pull queries don't support OFFSET clauses.
-- →   hint: pull queries on tables have it, if millstream.pull.relational is true

SELECT * FROM (SELECT id FROM a);
-- → (ID INTEGER)
-- → Answer ID
-- →   Select ID KEY
-- →     Read STREAM A from topic a (key JSON, value JSON)
-- → Pull from topic a: from its beginning to its present end

SELECT DISTINCT v FROM a;
-- → line 1:1: Pull queries don't support DISTINCT clauses.
-- →   hint: add EMIT CHANGES if you intended to issue a push query; pull queries on tables have it, if millstream.pull.relational is true

SELECT ROWTIME FROM (SELECT id FROM one) ORDER BY 1;
-- → line 1:8: SELECT column 'ROWTIME' cannot be resolved.
-- →   hint: only rows of a table have it
-- → without scans: line 1:22: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT id, ROWTIME AS t FROM one ORDER BY t;
-- → (ID INTEGER, T BIGINT)
-- → Sort by T
-- →   Project ID, ROWTIME AS T
-- →     Rows of TABLE ONE: read the whole table
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT id FROM one WHERE ROWTIME > '2020-01-01' ORDER BY id;
-- → (ID INTEGER)
-- → Sort by ID
-- →   Project ID
-- →     Where ROWTIME > '2020-01-01'
-- →       Rows of TABLE ONE: read the whole table
-- → without scans: line 1:1: WHERE clause missing key column for disjunct.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT id FROM one ORDER BY 2;
-- → line 1:29: ORDER BY 2: the SELECT has 1 columns
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT DISTINCT id FROM one ORDER BY n;
-- → line 1:38: with SELECT DISTINCT, ORDER BY names columns of the SELECT
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT id, COLLECT_LIST(n) AS l FROM two GROUP BY id ORDER BY l;
-- → line 1:63: rows cannot be sorted by a value of type ARRAY<BIGINT>
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT COUNT(*) FROM declared;
-- → line 1:1: The DECLARED table isn't queryable. To derive a queryable table, you can do 'CREATE TABLE QUERYABLE_DECLARED AS SELECT * FROM DECLARED'
-- →   hint: or declare it as CREATE SOURCE TABLE

SELECT COUNT(*) FROM nothing;
-- → line 1:22: NOTHING does not exist: no stream or table has that name

SELECT UCASE(DISTINCT s) AS u FROM two ORDER BY u;
-- → line 1:8: DISTINCT applies only to aggregate functions, and UCASE is not one
-- → without scans: line 1:1: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT id FROM one ORDER BY id EMIT CHANGES;
-- → line 1:1: Push queries don't support ORDER BY clauses.
-- →   hint: pull queries on tables have it, if millstream.pull.relational is true

SELECT * FROM (SELECT id FROM one EMIT CHANGES);
-- → line 1:16: Pull queries don't support EMIT clauses.
-- →   hint: EMIT CHANGES is for whole queries

SELECT ROWPARTITION FROM one ORDER BY id;
-- → line 1:8: Pull queries don't support the following columns in SELECT clauses: `ROWPARTITION`
-- →   hint: add EMIT CHANGES if you intended to issue a push query

SELECT n FROM one PARTITION BY n ORDER BY n;
-- → line 1:1: Pull queries don't support PARTITION BY clauses.
-- →   hint: CREATE TABLE … AS may have it

SELECT t, COUNT(*) AS n FROM many WHERE i = 1 GROUP BY t;
-- → (T STRING, N BIGINT)
-- → Project T, COUNT(*) AS N
-- →   Group by T: COUNT(*)
-- →     Where I = 1
-- →       Rows of TABLE MANY: index BY_I with I of 1

SELECT m.t, o.n FROM many m JOIN one o ON m.id = o.id WHERE m.i IN (1, 2) AND m.d > 1 AND o.n > 3;
-- → (T STRING, N BIGINT)
-- → Project T, N
-- →   Join (INNER) on M.ID = O.ID: by hash
-- →     Where M.I IN (1, 2) AND M.D > 1
-- →       Rows of TABLE MANY: index BY_I with I of 1, 2
-- →     Where O.N > 3
-- →       Rows of TABLE ONE: read the whole table
-- → without scans: line 1:1: WHERE clause missing key column for disjunct.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM (SELECT t, i FROM many WHERE i BETWEEN 1 AND 3) UNION ALL SELECT t, i FROM many WHERE t = 'a' ORDER BY t;
-- → (T STRING, I INTEGER)
-- → Sort by T
-- →   Project T, I
-- →     Union
-- →       Project T, I
-- →         Project T, I
-- →           Where I BETWEEN 1 AND 3
-- →             Rows of TABLE MANY: index BY_I with I >= 1 and I <= 3
-- →       Project T, I
-- →         Where T = 'a'
-- →           Rows of TABLE MANY: index BY_T with T of 'a'

SELECT * FROM (SELECT id AS name, n FROM one WHERE n > 1) WHERE name = 5 AND n < 9;
-- → (NAME INTEGER, N BIGINT)
-- → Project NAME, N
-- →   Project ID AS NAME, N
-- →     Where N > 1 AND NAME = 5 AND N < 9
-- →       Rows of TABLE ONE: look up ID of 5
-- → without scans: line 1:16: WHERE clause missing key column for disjunct.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM (SELECT id + 1 AS name, id, n * 2 AS twice FROM one) WHERE name = 5 AND id IN (1, 2) AND twice > 2;
-- → (NAME INTEGER, ID INTEGER, TWICE BIGINT)
-- → Project NAME, ID, TWICE
-- →   Where NAME = 5 AND TWICE > 2
-- →     Project ID + 1 AS NAME, ID, N * 2 AS TWICE
-- →       Where ID IN (1, 2)
-- →         Rows of TABLE ONE: look up ID of 1, 2
-- → without scans: line 1:16: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT a.name, b.n FROM (SELECT id AS name FROM one) a LEFT JOIN (SELECT id, n FROM one WHERE n > 1) b ON a.name = b.id WHERE a.name = 5 AND b.id = 6;
-- → (NAME INTEGER, N BIGINT)
-- → Project NAME, N
-- →   Where B.ID = 6
-- →     Join (LEFT) on A.NAME = B.ID: by hash
-- →       Project ID AS NAME
-- →         Where A.NAME = 5
-- →           Rows of TABLE ONE: look up ID of 5
-- →       Project ID, N
-- →         Where N > 1
-- →           Rows of TABLE ONE: read the whole table
-- → without scans: line 1:26: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM (SELECT id, COUNT(*) AS c FROM one GROUP BY id HAVING COUNT(*) > 1) WHERE id = 5;
-- → (ID INTEGER, C BIGINT)
-- → Project ID, C
-- →   Project ID, COUNT(*) AS C
-- →     Where COUNT(*) > 1 AND ID = 5
-- →       Group by ID: COUNT(*)
-- →         Rows of TABLE ONE: read the whole table
-- → without scans: line 1:16: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM (SELECT id, n FROM one ORDER BY n LIMIT 3) WHERE id = 5;
-- → (ID INTEGER, N BIGINT)
-- → Project ID, N
-- →   Where ID = 5
-- →     Take 3 rows
-- →       Sort by N, the first 3
-- →         Project ID, N
-- →           Rows of TABLE ONE: read the whole table
-- → without scans: line 1:16: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM (SELECT id AS x, WINDOWSTART AS started, n FROM win) WHERE x = 1 AND started >= 100;
-- → (X INTEGER, STARTED BIGINT, N BIGINT)
-- → Project X, STARTED, N
-- →   Project ID AS X, WINDOWSTART AS STARTED, N
-- →     Where X = 1 AND STARTED >= 100
-- →       Rows of TABLE WIN: look up ID of 1, windows with WINDOWSTART >= 100
-- → without scans: line 1:16: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true

SELECT * FROM (SELECT DISTINCT id FROM one) WHERE id = 5;
-- → (ID INTEGER)
-- → Project ID
-- →   Where ID = 5
-- →     Each row once
-- →       Project ID
-- →         Rows of TABLE ONE: read the whole table
-- → without scans: line 1:16: Missing WHERE clause.
-- →   hint: Query requires table scan to be enabled: ksql.query.pull.table.scan.enabled=true
