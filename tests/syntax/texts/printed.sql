select a, b from c;
-- → SELECT A, B FROM C

-- a comment; with a semicolon
SELECT /* another; */ 'a;b' FROM c --last
;
-- → SELECT 'a;b' FROM C

select "Quoted""Name", `back``tick`, lower_1, 1st, a@b from "C";
-- → SELECT `Quoted"Name`, `back``tick`, LOWER_1, `1ST`, A@B FROM C

create stream s (id int key, v varchar(20), w int array, d decimal(4,2), m map<varchar,array<int>>) with (kafka_topic='s', 'value_format'='json', `partitions`=1);
-- → CREATE STREAM S (ID INTEGER KEY, V STRING, W ARRAY<INTEGER>, D DECIMAL(4, 2), M MAP<STRING, ARRAY<INTEGER>>) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'json', PARTITIONS = 1)

create table t (id int primary key, x mytype, h array<struct<key varchar, value bytes>> headers) with (format='json');
-- → CREATE TABLE T (ID INTEGER PRIMARY KEY, X `MYTYPE`, H ARRAY<STRUCT<`KEY` STRING, `VALUE` BYTES>> HEADERS) WITH (FORMAT = 'json')

select a -1, a - -1, a-1, -1, - 1, -a, +1, -9223372036854775808 from t;
-- → SELECT A - 1, A - -1, A - 1, -1, -1, -A, +1, -9223372036854775808 FROM T

select a!=b, a<>b, not a is null, a is not distinct from b from t;
-- → SELECT A <> B, A <> B, NOT A IS NULL, A IS NOT DISTINCT FROM B FROM T

select a && b from t;
-- → refused: line 1:10: the character '&' means nothing here
-- →   hint: the operator is AND

select 1.50, 1., .5, 1e3, 1.5e-7, 2147483647, 2147483648 from t;
-- → SELECT 1.50, 1., 0.5, 1E3, 1.5E-7, 2147483647, 2147483648 FROM T

select count(*), dateadd(day, 1, d), dateadd(days, 1, d), datesub(millisecond, 1, d) from t;
-- → SELECT COUNT(*), DATEADD(DAY, 1, D), DATEADD(DAYS, 1, D), DATESUB(MILLISECONDS, 1, D) FROM T

select transform(a, x=>x+1), reduce(m, 0, (s, k, v) => s + v) from t;
-- → SELECT TRANSFORM(A, X => X + 1), REDUCE(M, 0, (S, K, V) => S + V) FROM T

select * from a x join b as y within 1 hour on x.k = y.k left outer join c on (x.k = c.k);
-- → SELECT * FROM A AS X INNER JOIN B AS Y WITHIN 1 HOURS ON X.K = Y.K LEFT JOIN C ON X.K = C.K

select * from a window w tumbling (size 1 day) group by (b, c), d;
-- → refused: line 1:63: unexpected ','; expected PARTITION BY, HAVING, UNION, ORDER BY, EMIT CHANGES, EMIT FINAL, LIMIT, OFFSET or the end of the statement

select * from a window w tumbling (size 1 day, grace period 1 hour) group by (b, c) emit final;
-- → SELECT * FROM A WINDOW TUMBLING (SIZE 1 DAYS, GRACE PERIOD 1 HOURS) GROUP BY B, C EMIT FINAL

select * from a group by (b);
-- → SELECT * FROM A GROUP BY B

select * from a group by ((b + c)), (f(d, e));
-- → SELECT * FROM A GROUP BY B + C, F(D, E)

select * from a partition by (b) emit changes limit 5;
-- → SELECT * FROM A PARTITION BY B EMIT CHANGES LIMIT 5

select a emit, b partition from c emit changes;
-- → SELECT A AS EMIT, B AS PARTITION FROM C EMIT CHANGES

select * from c emit emit changes;
-- → SELECT * FROM C AS EMIT EMIT CHANGES

insert into s values (1, -2.5, null, true, 'it''s', array[1,2], map('a':=1), struct(x:=1));
-- → INSERT INTO S VALUES (1, -2.5, NULL, TRUE, 'it''s', ARRAY[1, 2], MAP('a' := 1), STRUCT(X := 1))

insert into s (a, `b`) values ();
-- → INSERT INTO S (A, `b`) VALUES ()

list all topics extended;
-- → SHOW ALL TOPICS EXTENDED

list source connectors;
-- → SHOW SOURCE CONNECTORS

describe tables;
-- → DESCRIBE TABLES

describe `tables`;
-- → DESCRIBE `tables`

describe function;
-- → DESCRIBE FUNCTION

describe function sum;
-- → DESCRIBE FUNCTION SUM

explain show tables;
-- → EXPLAIN SHOW TABLES

explain show;
-- → EXPLAIN SHOW

explain csas_x_0;
-- → EXPLAIN CSAS_X_0

explain create stream x as select * from y;
-- → EXPLAIN CREATE STREAM X AS SELECT * FROM Y

print my-topic;
-- → refused: line 1:9: unexpected '-'
-- →   hint: a topic whose name has other characters than letters, digits and _ is quoted: PRINT 'my-topic'

print My_Topic from beginning sample 3 limit 2;
-- → PRINT `My_Topic` FROM BEGINNING INTERVAL 3 LIMIT 2

print 'my-topic' limit 1;
-- → PRINT `my-topic` LIMIT 1

terminate csas_x_1;
-- → TERMINATE CSAS_X_1

pause all;
-- → PAUSE ALL

define Name = '''quoted''';
-- → DEFINE Name = '''quoted'''

set 'a'='b';
-- → SET 'a' = 'b'

assert not exists topic Foo with (partitions=1) timeout 10 seconds;
-- → ASSERT NOT EXISTS TOPIC `Foo` WITH (PARTITIONS = 1) TIMEOUT 10 SECONDS

assert schema subject 'a-value' id 1;
-- → ASSERT SCHEMA SUBJECT `a-value` ID 1

create source connector if not exists jdbc with ("connector.class"='x', 'Tasks'=2, plain=true);
-- → CREATE SOURCE CONNECTOR IF NOT EXISTS JDBC WITH ('connector.class' = 'x', 'Tasks' = 2, 'plain' = TRUE)

alter table t add a int, add column b varchar;
-- → ALTER TABLE T ADD COLUMN A INTEGER, ADD COLUMN B STRING

select cast(a as decimal(4 , 2)), cast(b as struct<>), cast(c as map<string,map<string,int>>) from t;
-- → SELECT CAST(A AS DECIMAL(4, 2)), CAST(B AS STRUCT<>), CAST(C AS MAP<STRING, MAP<STRING, INTEGER>>) FROM T

select case a when 1 then 2 end, case when a then b else c end from t;
-- → SELECT CASE A WHEN 1 THEN 2 END, CASE WHEN A THEN B ELSE C END FROM T

select a[1][2]->b->c[d + 1], (a).b, x.y->z from t;
-- → refused: line 1:33: unexpected '.'; expected AS, ',' or FROM

select decimal '1.20', a at time zone 'UTC' at time zone 'CET' from t;
-- → SELECT DECIMAL '1.20', A AT TIME ZONE 'UTC' AT TIME ZONE 'CET' FROM T

select (((a))) + ((b)) * (c), (a + b) * c, not (a and b) or c from t;
-- → SELECT A + B * C, (A + B) * C, NOT (A AND B) OR C FROM T

EXPLAIN SET '' = '';
-- → EXPLAIN SET '' = ''

create function f (a int) returns null on null input returns string language python as $$a$$;
-- → refused: line 1:35: unexpected null; expected a type

create function f (a int) returns string returns null on null input language python as $$
  -- no comment; and $ no end '
$$; drop function f;
-- → CREATE FUNCTION F(A INTEGER) RETURNS STRING LANGUAGE PYTHON RETURNS NULL ON NULL INPUT AS $$
-- →   -- no comment; and $ no end '
-- → $$
-- → DROP FUNCTION F

select distinct a from x order by a desc nulls last, b + 1 asc limit 3 offset 4;
-- → SELECT DISTINCT A FROM X ORDER BY A DESC NULLS LAST, B + 1 LIMIT 3 OFFSET 4

select a from x union all select b from y union select c from (select * from z limit 1) q order by 1;
-- → SELECT * FROM (SELECT * FROM (SELECT A FROM X UNION ALL SELECT B FROM Y) UNION SELECT C FROM (SELECT * FROM Z LIMIT 1) AS Q) ORDER BY 1

select a from x union all (select b from y order by b limit 1);
-- → SELECT * FROM (SELECT A FROM X UNION ALL (SELECT B FROM Y ORDER BY B LIMIT 1))

with q as (select a, count(distinct b) as n from x group by a), r as (select max(n) as top from q) select * from q join r on q.n = r.top;
-- → SELECT * FROM (SELECT A, COUNT(DISTINCT B) AS N FROM X GROUP BY A) AS Q INNER JOIN (SELECT MAX(N) AS TOP FROM (SELECT A, COUNT(DISTINCT B) AS N FROM X GROUP BY A) AS Q) AS R ON Q.N = R.TOP

select a from x as order order by a;
-- → SELECT A FROM X AS ORDER ORDER BY A

select a from (select b from y) where b = 1;
-- → SELECT A FROM (SELECT B FROM Y) WHERE B = 1

list all connectors;
-- → SHOW CONNECTORS

select sum(a) over (partition by b order by rowoffset asc rows between 3 preceding and current row) over from c;
-- → SELECT SUM(A) OVER (PARTITION BY B ORDER BY ROWOFFSET ROWS 3 PRECEDING) AS OVER FROM C

select sum(a) over (partition by b order by rowoffset rows between unbounded preceding and current row) as d from c;
-- → SELECT SUM(A) OVER (PARTITION BY B ORDER BY ROWOFFSET) AS D FROM C

select sum(a) over (partition by b order by rowtime range between 5 minutes preceding and current row grace period 1 second) as d from c;
-- → SELECT SUM(A) OVER (PARTITION BY B ORDER BY ROWTIME RANGE 5 MINUTES PRECEDING GRACE PERIOD 1 SECONDS) AS D FROM C
