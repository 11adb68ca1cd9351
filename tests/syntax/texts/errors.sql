CRAETE STREAM x (a INT) WITH (kafka_topic='x');
-- → line 1:1: unexpected CRAETE; expected a statement
-- →   hint: did you mean CREATE?

SELECT * FORM x;
-- → line 1:10: unexpected FORM; expected ',' or FROM
-- →   hint: did you mean FROM?

SELECT a FORM x;
-- → line 1:15: unexpected x; expected ',' or FROM
-- →   hint: did you mean FROM instead of FORM?

SELECT a
FROM x
WHER a = 1;
-- → line 3:6: unexpected a; expected the end of the statement
-- →   hint: did you mean WHERE instead of WHER?

SELECT * FROM x GROPU BY a;
-- → line 1:23: unexpected BY; expected the end of the statement
-- →   hint: did you mean GROUP instead of GROPU?

CREATE STRAEM x (a INT);
-- → line 1:8: unexpected STRAEM; expected TYPE, INDEX, OR REPLACE, FUNCTION, VIEW, SOURCE, STREAM or TABLE
-- →   hint: did you mean STREAM?

CREATE STREAM table (a INT);
-- → line 1:15: unexpected table; expected IF NOT EXISTS or the name of the stream
-- →   hint: TABLE is a reserved word; as a name it is written `TABLE`

CREATE STREAM x (from INT);
-- → line 1:18: unexpected from; expected a column name
-- →   hint: FROM is a reserved word; as a name it is written `FROM`

CREATE STREAM x (a INT, size INT) WITH (kafka_topic='x');
-- → line 1:25: unexpected size; expected a column name
-- →   hint: SIZE is a reserved word; as a name it is written `SIZE`

SELECT query FROM x;
-- → line 1:8: unexpected query; expected DISTINCT, '*' or an expression
-- →   hint: QUERY is a reserved word; as a name it is written `QUERY`

SELECT FROM x;
-- → line 1:8: unexpected FROM; expected DISTINCT, '*' or an expression

SELECT 'abc FROM x;
-- → line 1:8: this string has no closing quote
-- →   hint: a quote inside a string is doubled: 'it''s'

SELECT "abc FROM x;
-- → line 1:8: this name has no closing quote
-- →   hint: a quote inside a quoted name is doubled: "a""b"

SELECT `abc FROM x;
-- → line 1:8: this name has no closing backtick
-- →   hint: a backtick inside a quoted name is doubled: `a``b`

SELECT a /* b FROM x;
-- → line 1:10: this comment is not closed
-- →   hint: a comment that begins with /* ends with */

SELECT a # b FROM x;
-- → line 1:10: the character '#' means nothing here
-- →   hint: a comment begins with --

SELECT * FROM x
-- → line 1:16: the statement does not end
-- →   hint: a statement ends with ';'

CREATE STREAM x (a INT
-- → line 1:23: unexpected end of statement; expected ARRAY, HEADER, KEY, PRIMARY KEY, HEADERS, ',' or ')'

SELECT * FROM x WHERE a = b = c;
-- → line 1:29: unexpected '='; expected GROUP BY, PARTITION BY, HAVING, UNION, ORDER BY, EMIT CHANGES, EMIT FINAL, LIMIT, OFFSET or the end of the statement
-- →   hint: equality is written =, and comparisons do not chain: a = b AND b = c

SELECT * FROM x WHERE a == b;
-- → line 1:26: unexpected '='; expected an expression
-- →   hint: equality is written =, and comparisons do not chain: a = b AND b = c

SELECT a b c FROM x;
-- → line 1:12: unexpected c; expected ',' or FROM

SELECT 99999999999999999999 FROM x;
-- → line 1:8: 99999999999999999999 is too large for BIGINT
-- →   hint: write 99999999999999999999.0 for a DECIMAL

SELECT -9223372036854775809 FROM x;
-- → line 1:8: -9223372036854775809 is too large for BIGINT
-- →   hint: write -9223372036854775809.0 for a DECIMAL

SELECT 1e999 FROM x;
-- → line 1:8: 1e999 is too large for DOUBLE

CREATE STREAM x (a DECIMAL) WITH (kafka_topic='x');
-- → line 1:20: DECIMAL needs a precision and a scale
-- →   hint: write DECIMAL(10, 2)

CREATE STREAM x (a DECIMAL(2,4)) WITH (kafka_topic='x');
-- → line 1:20: the scale of DECIMAL(2, 4) exceeds its precision
-- →   hint: the scale counts digits behind the point, the precision all digits

CREATE STREAM x (a DECIMAL(0,0)) WITH (kafka_topic='x');
-- → line 1:20: a DECIMAL has at least one digit, not 0

CREATE STREAM x (a ARRAY<INT) WITH (kafka_topic='x');
-- → line 1:29: unexpected ')'; expected ARRAY or '>'

CREATE STREAM x (a NULL) WITH (kafka_topic='x');
-- → line 1:20: unexpected NULL; expected a type
-- →   hint: leave it out: each column can be NULL but those of a table's key

CREATE STREAM x (a INT) WITH (kafka_topic=x);
-- → line 1:43: unexpected x; expected NULL, TRUE, FALSE, a number or a string
-- →   hint: text is put in single quotes

CREATE STREAM x (a INT) AS SELECT * FROM y;
-- → line 1:25: unexpected AS; expected WITH or the end of the statement

CREATE STREAM x (a INT)) WITH (kafka_topic='x');
-- → line 1:24: unexpected ')'; expected WITH or the end of the statement

CREATE STREAM x AS SELECT * FROM y WITH (kafka_topic='x');
-- → line 1:36: unexpected WITH; expected the end of the statement
-- →   hint: WITH (…) follows the name, before AS

SELECT * FROM x WINDOW TUMBLING (10 SECONDS) GROUP BY a;
-- → line 1:34: unexpected 10; expected SIZE
-- →   hint: WINDOW TUMBLING (SIZE 1 HOUR)

SELECT * FROM x WINDOW TUMBLING (SIZE 10 YEARS) GROUP BY a;
-- → line 1:42: unexpected YEARS; expected MILLISECONDS, SECONDS, MINUTES, HOURS or DAYS

SELECT * FROM x WINDOW TUMBLING (SIZE 10 SECOMDS) GROUP BY a;
-- → line 1:42: unexpected SECOMDS; expected MILLISECONDS, SECONDS, MINUTES, HOURS or DAYS
-- →   hint: did you mean SECONDS?

SELECT * FROM x JOIN y;
-- → line 1:23: unexpected ';'; expected AS, WITHIN or ON

SELECT * FROM x JOIN y WITHIN 10 ON a = b;
-- → line 1:34: unexpected ON; expected MILLISECONDS, SECONDS, MINUTES, HOURS or DAYS

SELECT * FROM x GROUP BY a, (b, c);
-- → line 1:31: unexpected ','; expected ')'

SELECT * FROM x PARTITION BY a AND b;
-- → line 1:32: unexpected AND; expected AS, ',', HAVING, UNION, ORDER BY, EMIT CHANGES, EMIT FINAL, LIMIT, OFFSET or the end of the statement

SELECT a + b->* FROM x;
-- → line 1:8: ->* takes the fields of one struct
-- →   hint: put the expression in parentheses: (…)->*

SELECT a FROM x EMIT CHNAGES;
-- → line 1:22: unexpected CHNAGES; expected the end of the statement
-- →   hint: did you mean CHANGES?

SELECT a FROM x LIMIT many;
-- → line 1:23: unexpected many; expected a whole number of rows

SELECT a FROM x LIMIT -1;
-- → line 1:23: queries don't support negative integers in the LIMIT clause
-- →   hint: LIMIT 0 or more

SELECT a FROM x LIMIT 99999999999;
-- → line 1:23: 99999999999 is too large here
-- →   hint: the most is 2147483647

SELECT a LIKE 'x' ESCAPE 'ab' FROM x;
-- → line 1:26: an escape is one character, not 'ab'

SELECT a FROM x WHERE a NOT 5;
-- → line 1:25: unexpected NOT; expected GROUP BY, PARTITION BY, HAVING, UNION, ORDER BY, EMIT CHANGES, EMIT FINAL, LIMIT, OFFSET or the end of the statement

SELECT a FROM x WHERE a IS 5;
-- → line 1:28: unexpected 5; expected NOT, NULL or DISTINCT

SELECT CASE a END FROM x;
-- → line 1:15: unexpected END; expected WHEN

SELECT COUNT(* FROM x;
-- → line 1:14: unexpected '*'; expected DISTINCT or an expression

SELECT ${x} FROM x;
-- → line 1:8: there is no variable x
-- →   hint: DEFINE x = '…'; makes it known

SELECT ${x FROM x;
-- → line 1:8: this is not a variable
-- →   hint: a variable is written ${name}

SELECT a.b.c FROM x;
-- → line 1:11: unexpected '.'; expected AS, ',' or FROM
-- →   hint: a field of a STRUCT is written column->field; there is no schema before a source

INSERT INTO x (a, b) SELECT * FROM y;
-- → line 1:22: unexpected SELECT; expected VALUES
-- →   hint: INSERT INTO a SELECT … has no list of columns: SELECT names them, SELECT v AS name

INSERT x VALUES (1);
-- → line 1:8: unexpected x; expected INTO

INSERT INTO x VALUES 1, 2;
-- → line 1:22: unexpected 1; expected '('

SHOW STREEMS;
-- → line 1:6: unexpected STREEMS; expected what to list, such as STREAMS or TOPICS
-- →   hint: did you mean STREAMS?

SHOW everything;
-- → line 1:6: unexpected everything; expected what to list, such as STREAMS or TOPICS

DESCRIBE;
-- → line 1:9: unexpected ';'; expected STREAMS, TABLES, CONNECTOR or the name of a stream or table

DROP x;
-- → line 1:6: unexpected x; expected TYPE, INDEX, VIEW, FUNCTION, CONNECTOR, STREAM or TABLE
-- →   hint: say what it is: DROP STREAM x, or DROP TABLE

TERMINATE;
-- → line 1:10: unexpected ';'; expected ALL or the id of a query

SET a = 'b';
-- → line 1:5: unexpected a; expected the setting's name as a string
-- →   hint: a setting's name is a string: SET 'auto.offset.reset' = 'earliest'; a variable is set by DEFINE

DEFINE a = b;
-- → line 1:12: unexpected b; expected the value as a string
-- →   hint: text is put in single quotes

UPDATE x SET a = 1;
-- → line 1:1: unexpected UPDATE; expected a statement
-- →   hint: a row of a table is replaced by INSERT INTO … VALUES with the same key

DELETE FROM x;
-- → line 1:14: unexpected ';'; expected WHERE

DELETE x WHERE a = 1;
-- → line 1:8: unexpected x; expected FROM

DELETE FROM x WHERE;
-- → line 1:20: unexpected ';'; expected an expression

(SELECT 1);
-- → line 1:1: unexpected '('; expected a statement
-- →   hint: a query in parentheses is allowed in FROM only: CREATE a stream or table AS the inner query and select from that

EXPLAIN;
-- → line 1:8: unexpected ';'; expected a statement or the id of a query

PRINT 'x' FROM START;
-- → line 1:11: unexpected FROM; expected FROM BEGINNING, INTERVAL, SAMPLE, LIMIT or the end of the statement

PRINT 'x' INTERVAL 0;
-- → line 1:20: an interval is at least 1
-- →   hint: 1 shows each record, 2 every second one

ASSERT TOPIC;
-- → line 1:13: unexpected ';'; expected a topic

ASSERT NOT EXISTS VALUES x VALUES (1);
-- → line 1:19: unexpected VALUES; expected TOPIC or SCHEMA

ASSERT VALUES x (a INT) VALUES (1);
-- → line 1:20: unexpected INT; expected ',' or ')'

CREATE SINK CONNECTOR c;
-- → line 1:24: unexpected ';'; expected WITH

ALTER STREAM x DROP COLUMN a;
-- → line 1:16: unexpected DROP; expected CUT OVER or ADD
-- →   hint: columns can be added only: ADD name type; for others CREATE OR REPLACE, or DROP and CREATE it again

ALTER STREAM x ADD COLUMN a;
-- → line 1:28: unexpected ';'; expected a type

CREATE TYPE t;
-- → line 1:14: unexpected ';'; expected AS

CREATE INDEX i ON t;
-- → line 1:20: unexpected ';'; expected '('

CREATE INDEX i t (a);
-- → line 1:16: unexpected t; expected ON

CREATE INDEX i ON t ();
-- → line 1:22: unexpected ')'; expected a column name

CREATE INDEX i ON t (a + 1);
-- → line 1:24: unexpected '+'; expected ',' or ')'

CREATE UNIQUE INDEX i ON t (a);
-- → line 1:8: unexpected UNIQUE; expected TYPE, INDEX, OR REPLACE, FUNCTION, VIEW, SOURCE, STREAM or TABLE

DROP INDEX;
-- → line 1:11: unexpected ';'; expected IF EXISTS or the name of an index

SELECT a FROM x; SELECT b FRM y;
-- → line 1:31: unexpected y; expected ',' or FROM
-- →   hint: did you mean FROM instead of FRM?

SELECT * FROM x WHERE a = 1 WINDOW TUMBLING (SIZE 1 DAY);
-- → line 1:29: unexpected WINDOW; expected GROUP BY, PARTITION BY, HAVING, UNION, ORDER BY, EMIT CHANGES, EMIT FINAL, LIMIT, OFFSET or the end of the statement
-- →   hint: WINDOW TUMBLING (SIZE 10 MINUTES) follows FROM and its joins, before WHERE

SELECT * FROM x GROUP BY a WHERE b = 1;
-- → line 1:28: unexpected WHERE; expected AS, ',', PARTITION BY, HAVING, UNION, ORDER BY, EMIT CHANGES, EMIT FINAL, LIMIT, OFFSET or the end of the statement
-- →   hint: the clauses have this order: FROM, WINDOW, WHERE, GROUP BY, PARTITION BY, HAVING, ORDER BY, EMIT, LIMIT, OFFSET

SELECT * FROM x LIMIT 1 EMIT CHANGES;
-- → line 1:25: unexpected EMIT; expected OFFSET or the end of the statement
-- →   hint: EMIT CHANGES follows HAVING, before LIMIT

SELECT * FROM x JOIN y ON x.a = y.a WITHIN 1 DAY;
-- → line 1:37: unexpected WITHIN; expected the end of the statement
-- →   hint: WITHIN is placed between the joined source and ON

INSERT INTO select VALUES (1);
-- → line 1:13: unexpected select; expected the name of a stream or table
-- →   hint: SELECT is a reserved word; as a name it is written `SELECT`

PRINT my-topic;
-- → line 1:9: unexpected '-'
-- →   hint: a topic whose name has other characters than letters, digits and _ is quoted: PRINT 'my-topic'

CREATE FUNCTION f(a INT) RETURNS INT LANGUAGE PYTHON AS $$ return a;
-- → line 1:57: this block has no closing $$
-- →   hint: a block is enclosed in $$ and $$

CREATE FUNCTION f(a INT) RETURNS INT LANGUAGE JAVA AS $$return a$$;
-- → line 1:47: unexpected JAVA; expected PYTHON

CREATE FUNCTION f(a INT) RETURNS INT LANGUAGE PYTHON AS 'return a';
-- → line 1:57: unexpected 'return a'; expected the function's text between $$ and $$
-- →   hint: a name is written without quotes, or in backticks

CREATE FUNCTION f(a) RETURNS INT LANGUAGE PYTHON AS $$a$$;
-- → line 1:20: unexpected ')'; expected a type

CREATE AGGREGATE f(a INT) RETURNS INT LANGUAGE PYTHON AS $$a$$;
-- → line 1:8: unexpected AGGREGATE; expected TYPE, INDEX, OR REPLACE, FUNCTION, VIEW, SOURCE, STREAM or TABLE

SELECT a FROM x LIMIT 2.5;
-- → line 1:23: unexpected 2.5; expected a whole number of rows

SELECT a FROM x LIMIT heh;
-- → line 1:23: unexpected heh; expected a whole number of rows

DESCRIBE FUNCTON lcase;
-- → line 1:10: unexpected lcase behind DESCRIBE FUNCTON
-- →   hint: did you mean FUNCTION?

DESCRIBE FUNKTION 'lcase';
-- → line 1:10: unexpected 'lcase' behind DESCRIBE FUNKTION
-- →   hint: did you mean FUNCTION?

DESCRIBE CONECTOR c;
-- → line 1:10: unexpected c behind DESCRIBE CONECTOR
-- →   hint: did you mean CONNECTOR?

DESCRIBE EXTENDED readings;
-- → line 1:10: unexpected EXTENDED
-- →   hint: it follows the name: DESCRIBE readings EXTENDED

DESCRIBE functions_of_mine extra;
-- → line 1:28: unexpected extra; expected EXTENDED or the end of the statement

SELECT a FROM x LIMIT 3 ORDER BY a;
-- → line 1:25: unexpected ORDER; expected OFFSET or the end of the statement
-- →   hint: ORDER BY comes after HAVING, before LIMIT

SELECT a FROM x WHERE a IN (SELECT b FROM y);
-- → line 1:29: unexpected SELECT; expected an expression
-- →   hint: a query is allowed in FROM only: join it, FROM a JOIN b ON a.id = b.id

SELECT a FROM x LIMIT 3 UNION SELECT b FROM y;
-- → line 1:25: unexpected UNION; expected OFFSET or the end of the statement
-- →   hint: UNION comes between whole selections, before ORDER BY and LIMIT; put others in parentheses

WITH q AS SELECT a FROM x SELECT a FROM q;
-- → line 1:11: unexpected SELECT; expected '('

SELECT a FROM x ORDER BY a NULLS;
-- → line 1:33: unexpected ';'; expected FIRST or LAST

SELECT COUNT(DISTINCT) FROM x;
-- → line 1:22: unexpected ')'; expected an expression

SELECT a FROM orders GROUP a;
-- → line 1:28: unexpected a; expected BY

SELECT a FROM orders PARTITION a;
-- → line 1:32: unexpected a; expected the end of the statement
-- →   hint: did you mean PARTITION BY?

SELECT a, b, FROM x;
-- → line 1:14: unexpected FROM; expected '*' or an expression
-- →   hint: no comma comes after the last one of a list

CREATE STREAM x (a INT,) WITH (kafka_topic='x');
-- → line 1:24: unexpected ')'; expected a column name
-- →   hint: no comma comes after the last one of a list

SELECT * FROM x, y WHERE x.a = y.a;
-- → line 1:16: unexpected ','; expected the end of the statement
-- →   hint: sources are joined: FROM a JOIN b ON a.id = b.id

SELECT * FROM x OUTER JOIN y ON x.a = y.a;
-- → line 1:17: unexpected OUTER; expected the end of the statement
-- →   hint: an outer join is a LEFT JOIN, RIGHT JOIN or FULL JOIN

SELECT * FROM x JOIN y USING (a);
-- → line 1:30: unexpected '('; expected WITHIN or ON
-- →   hint: the columns of a join are written out: ON a.id = b.id

SELECT * FROM x WHERE a => 5;
-- → line 1:25: unexpected '=>'; expected GROUP BY, PARTITION BY, HAVING, UNION, ORDER BY, EMIT CHANGES, EMIT FINAL, LIMIT, OFFSET or the end of the statement
-- →   hint: did you mean >=?

SELECT * FROM x WHERE a =< 5;
-- → line 1:26: unexpected '<'; expected an expression
-- →   hint: did you mean <=?

SELECT * FROM x WHERE a & b;
-- → line 1:25: the character '&' means nothing here
-- →   hint: the operator is AND

SELECT * FROM x WHERE a ! = b;
-- → line 1:25: the character '!' means nothing here
-- →   hint: the operators are NOT, and <> or != without blanks

SELECT * FROM x WHERE a = ‘b’;
-- → line 1:27: the character '‘' means nothing here
-- →   hint: text is put in straight single quotes: 'text'

SELECT a::INT FROM x;
-- → line 1:9: the character ':' means nothing here
-- →   hint: a type is changed by CAST(a AS INTEGER); fields of STRUCT and MAP are written name := value

SELECT größe FROM x;
-- → line 1:10: the character 'ö' means nothing here
-- →   hint: a name with letters other than A to Z is put in backticks

SELECT * FROM x WHERE a ILIKE 'b';
-- → line 1:25: unexpected ILIKE; expected GROUP BY, PARTITION BY, HAVING, UNION, ORDER BY, EMIT CHANGES, EMIT FINAL, LIMIT, OFFSET or the end of the statement
-- →   hint: LIKE regards the case: UCASE(a) LIKE 'X%'

SELECT TOP 5 * FROM x;
-- → line 1:12: unexpected 5; expected AS, ',' or FROM
-- →   hint: the number of rows is written at the end: LIMIT 5

SELECT * FROM my-stream;
-- → line 1:17: unexpected '-'; expected the end of the statement
-- →   hint: a name with other characters than letters, digits and _ is quoted: `my-stream`

SELECT a FROM x EMIT CHANGES
CREATE STREAM y AS SELECT a FROM x;
-- → line 2:1: unexpected CREATE; expected LIMIT, OFFSET or the end of the statement
-- →   hint: a statement ends with ';', also before the next one

CREATE STREAM x SELECT * FROM y;
-- → line 1:17: unexpected SELECT; expected WITH, AS or the end of the statement
-- →   hint: AS comes before SELECT

CREATE STREAM x (a INT) WITH (topic='x');
-- → line 1:31: unexpected topic; expected the name of a property
-- →   hint: did you mean KAFKA_TOPIC?

SET 'auto.offset.reset' = earliest;
-- → line 1:27: unexpected earliest; expected the value as a string
-- →   hint: a setting's name is a string: SET 'auto.offset.reset' = 'earliest'; a variable is set by DEFINE

DEFINE a = 5;
-- → line 1:12: unexpected 5; expected the value as a string
-- →   hint: text is put in single quotes

INSERT INTO x (a) VALUES (1), (2);
-- → line 1:29: INSERT INTO … VALUES writes one row
-- →   hint: write a statement for each row

TERMINATE QUERY CSAS_A_0;
-- → line 1:11: unexpected QUERY
-- →   hint: the id follows TERMINATE itself: TERMINATE CSAS_A_0

DESCRIBE QUERIES;
-- → line 1:10: unexpected QUERIES
-- →   hint: SHOW QUERIES lists them

DESCRIBE STREAM x;
-- → line 1:10: unexpected STREAM
-- →   hint: the name alone: DESCRIBE x

DESC x;
-- → line 1:1: unexpected DESC; expected a statement
-- →   hint: did you mean DESCRIBE?

SELECT COUNT(*) FROM x WINDOW HOPPING (SIZE 1 HOUR) GROUP BY a;
-- → line 1:51: unexpected ')'; expected ', ADVANCE BY' and a duration

SELECT COUNT(*) FROM x WINDOW TUMBLING (SIZE 1 HOUR, GRACE 1 HOUR) GROUP BY a;
-- → line 1:60: unexpected 1; expected PERIOD

SELECT COUNT(*) FROM x WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 1 HOUR, RETENTION 1 DAY) GROUP BY a;
-- → line 1:75: unexpected RETENTION
-- →   hint: RETENTION comes before GRACE PERIOD

CREATE TOPIC x;
-- → line 1:8: unexpected TOPIC; expected TYPE, INDEX, OR REPLACE, FUNCTION, VIEW, SOURCE, STREAM or TABLE
-- →   hint: a topic is created WITH (KAFKA_TOPIC='…', PARTITIONS=…), and deleted by DROP STREAM|TABLE … DELETE TOPIC

DROP TOPIC x;
-- → line 1:6: unexpected TOPIC; expected TYPE, INDEX, VIEW, FUNCTION, CONNECTOR, STREAM or TABLE
-- →   hint: a topic is created WITH (KAFKA_TOPIC='…', PARTITIONS=…), and deleted by DROP STREAM|TABLE … DELETE TOPIC

CREATE MATERIALIZED VIEW x AS SELECT * FROM y;
-- → line 1:8: unexpected MATERIALIZED; expected TYPE, INDEX, OR REPLACE, FUNCTION, VIEW, SOURCE, STREAM or TABLE
-- →   hint: a materialized view is a stream or table: CREATE STREAM|TABLE … AS SELECT …

CREATE DATABASE x;
-- → line 1:8: unexpected DATABASE; expected TYPE, INDEX, OR REPLACE, FUNCTION, VIEW, SOURCE, STREAM or TABLE
-- →   hint: there are no databases or schemas: a name is that of one stream or table

SELECT a FROM x;
-- → line 1:9: the character '\xa0' means nothing here
-- →   hint: it is not a plain blank, and was copied with the text: write a blank instead

SELECT a FROM x WHERE a ≥ 5;
-- → line 1:25: the character '≥' means nothing here
-- →   hint: write >=

SELECT a – 1 FROM x;
-- → line 1:10: the character '–' means nothing here
-- →   hint: a minus is -, a comment begins with --

CREATE TYP x AS INT;
-- → line 1:8: unexpected TYP; expected TYPE, INDEX, OR REPLACE, FUNCTION, VIEW, SOURCE, STREAM or TABLE
-- →   hint: did you mean TYPE?

CREATE FUNTION f(x INT) RETURNS INT LANGUAGE PYTHON AS $$ $$;
-- → line 1:8: unexpected FUNTION; expected TYPE, INDEX, OR REPLACE, FUNCTION, VIEW, SOURCE, STREAM or TABLE
-- →   hint: did you mean FUNCTION?
