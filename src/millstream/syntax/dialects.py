"""Words of other SQL dialects, with what is written here: the hints of syntax errors.

A key is a phrase, words and symbols with blanks between them, in which `…` is any one of either:

    CREATE TABLE t (id STRING, v INT, PRIMARY KEY (id));      the parser stops at the last `id`
    PRIMARY KEY (                                             the phrase that ends there, of those in COLUMNS
"""

from collections.abc import Iterator, Mapping, Sequence

_BY_KEY = "a row of a table is replaced by INSERT INTO … VALUES with the same key"
_NO_SCHEMA = "there are no databases or schemas: a name is that of one stream or table"
_NO_TRANSACTION = "there are no transactions"
_ACCESS = "who may do what is in the server's file of users: `millstream users`"
_VIEW = "a view stays until it is dropped: CREATE VIEW name AS SELECT …"
_MATERIALIZED = "a materialized view is a stream or table: CREATE STREAM|TABLE … AS SELECT …"
_LASTING = "a stream or table stays until it is dropped; a query that ends with its client is a SELECT alone"
# The first word of what is not a statement here.
STATEMENTS = {
    "UPDATE": _BY_KEY,
    "UPSERT": _BY_KEY,
    "REPLACE": _BY_KEY,
    "MERGE": _BY_KEY,
    "USE": _NO_SCHEMA,
    "BEGIN": _NO_TRANSACTION,
    "START": _NO_TRANSACTION,
    "COMMIT": _NO_TRANSACTION,
    "ROLLBACK": _NO_TRANSACTION,
    "GRANT": _ACCESS,
    "REVOKE": _ACCESS,
    "DESC": "did you mean DESCRIBE?",
    "TRUNCATE": "a topic is emptied by DROP STREAM|TABLE … DELETE TOPIC, and CREATE again",
    "EXECUTE": "write the statements one after the other, each ends with ';'",
    "ANALYZE": "EXPLAIN shows a query's plan, DESCRIBE name EXTENDED its figures",
    "KILL": "a query is ended by TERMINATE id",
    "STOP": "a query is ended by TERMINATE id, and stopped for a time by PAUSE id",
    "COPY": "databases and files are read by connectors: CREATE SOURCE CONNECTOR",
    "LOAD": "databases and files are read by connectors: CREATE SOURCE CONNECTOR",
    "FROM": "SELECT comes first: SELECT … FROM a",
    "VALUES": "rows are written by INSERT INTO a (…) VALUES (…)",
    "ADD": "a function of your own is written in Python: CREATE FUNCTION",
    "CALL": "a function is called in a SELECT",
}
# What other systems create and drop, where a stream or table is expected.
OBJECTS = {
    "TOPIC": "a topic is created WITH (KAFKA_TOPIC='…', PARTITIONS=…), and deleted by DROP STREAM|TABLE … DELETE TOPIC",
    "QUERY": "a query is started by CREATE STREAM|TABLE … AS SELECT …, and ended by TERMINATE",
    "TEMPORARY VIEW": _VIEW,
    "TEMP VIEW": _VIEW,
    "GLOBAL": _VIEW,
    "MATERIALIZED": _MATERIALIZED,
    "LIVE": _MATERIALIZED,
    "TEMPORARY": _LASTING,
    "TEMP": _LASTING,
    "UNLOGGED": _LASTING,
    "EXTERNAL": "each stream or table reads a topic: CREATE TABLE … WITH (KAFKA_TOPIC='…', VALUE_FORMAT='…')",
    "DATABASE": _NO_SCHEMA,
    "SCHEMA": _NO_SCHEMA,
    "CATALOG": _NO_SCHEMA,
    "USER": _ACCESS,
    "ROLE": _ACCESS,
    "PROCEDURE": "a function of your own is written in Python: CREATE FUNCTION",
    "TRIGGER": "what happens at each row is a query: CREATE STREAM … AS SELECT …",
}
_KEY = "PRIMARY KEY follows its column's type, for each column of the key: id STRING PRIMARY KEY"
_UNCHECKED = "rows are not checked against constraints: leave it out, or filter by WHERE in a query"
_UTC = "TIMESTAMP alone: it is a moment, and is shown in UTC"
_DERIVED = "a column is computed in a query over this source: CREATE STREAM … AS SELECT"
_STRUCT = "a row inside a row is a STRUCT<name STRING, age INT>"
# Between the parentheses of CREATE STREAM|TABLE.
COLUMNS = {
    "WATERMARK FOR": (
        "the column with a record's time is named by WITH (TIMESTAMP='ts'); how long a window waits is its GRACE PERIOD"
    ),
    "FOREIGN KEY (": _UNCHECKED,
    "PRIMARY KEY (": _KEY,
    "NOT ENFORCED": "PRIMARY KEY says it alone: a later row of the same key replaces the earlier one",
    "NOT NULL": "leave it out: each column can be NULL but those of a table's key",
    "NULL": "leave it out: each column can be NULL but those of a table's key",
    "DEFAULT": "columns have no defaults: a query over this source writes COALESCE(v, 0)",
    "UNIQUE": _UNCHECKED,
    "REFERENCES": _UNCHECKED,
    "CHECK": _UNCHECKED,
    "GENERATED": _DERIVED,
    "AUTO_INCREMENT": "there are no counters: a producer gives the keys, or a query UUID()",
    "AS": _DERIVED,
    "METADATA": "a record's time and place are ROWTIME, ROWPARTITION, ROWOFFSET; a header is BYTES HEADER('name')",
    "COMMENT": "a comment begins with --",
    "[ ]": "an array of numbers is an ARRAY<INT>",
    "ROW <": _STRUCT,
    "ROW (": _STRUCT,
    "WITH TIME ZONE": _UTC,
    "WITH LOCAL TIME ZONE": _UTC,
    "WITHOUT TIME ZONE": _UTC,
    "DOUBLE PRECISION": "write DOUBLE",
}
_TOPIC = "what it reads is a Kafka topic: WITH (KAFKA_TOPIC='…', VALUE_FORMAT='JSON')"
_PARTITIONS = "a topic has partitions, WITH (PARTITIONS=4), and a row goes to that of its key; PARTITION BY in a query"
# Elsewhere in CREATE, before the query.
DEFINITION = {
    "USING": _TOPIC,
    "OPTIONS": _TOPIC,
    "STORED": _TOPIC,
    "LOCATION": _TOPIC,
    "TBLPROPERTIES": _TOPIC,
    "PARTITIONED": _PARTITIONS,
    "CLUSTERED": _PARTITIONS,
    "DISTRIBUTED": _PARTITIONS,
    "COMMENT": "a comment begins with --",
    ") (": "the columns come before WITH: CREATE STREAM a (id INT KEY, v INT) WITH (…)",
    "STREAM … .": _NO_SCHEMA,
    "TABLE … .": _NO_SCHEMA,
}
_REPLACES = "INSERT replaces the row of a table that has the same key"
INSERT = {
    "INTO TABLE": "the name alone: INSERT INTO a SELECT …",
    "OVERWRITE": "what is in a topic stays there: INSERT INTO a SELECT …",
    ") SELECT": "INSERT INTO a SELECT … has no list of columns: SELECT names them, SELECT v AS name",
    "SET": "INSERT INTO a (x, y) VALUES (1, 2)",
    "RETURNING": "INSERT does not return rows: SELECT … FROM a shows it",
    "ON CONFLICT": _REPLACES,
    "ON DUPLICATE": _REPLACES,
    "INTO … .": _NO_SCHEMA,
}
_NAME_STAYS = "a name stays: DROP the stream or table, which keeps its topic, and CREATE another one over the topic"
_COLUMNS_STAY = "columns can be added only: ADD name type; for others CREATE OR REPLACE, or DROP and CREATE it again"
ALTER = {
    "RENAME": _NAME_STAYS,
    "DROP": _COLUMNS_STAY,
    "ALTER": _COLUMNS_STAY,
    "MODIFY": _COLUMNS_STAY,
    "CHANGE": _COLUMNS_STAY,
    "SET": "what WITH says stays: CREATE OR REPLACE … WITH (…)",
}
SHOW = {
    "CREATE": "DESCRIBE name EXTENDED shows the statement",
    "DATABASES": _NO_SCHEMA,
    "SCHEMAS": _NO_SCHEMA,
    "CATALOGS": _NO_SCHEMA,
    "COLUMNS": "DESCRIBE name lists the columns",
    "JOBS": "SHOW QUERIES lists them",
    "PARTITIONS": "SHOW TOPICS lists the numbers of partitions",
}
DROP = {
    "CASCADE": "what reads it is dropped before it, by a separate statement",
    ",": "each is dropped by a separate statement",
}
PRINT = {
    "INTERVAL …": "it is a whole number: PRINT 'topic' INTERVAL 2 shows every second record",
}
SET = {
    "SET … .": "a setting's name is a string: SET 'auto.offset.reset' = 'earliest'",
    "SET … =": "a setting's name is a string: SET 'auto.offset.reset' = 'earliest'; a variable is set by DEFINE",
}
_WINDOW = "a window is a clause: FROM a WINDOW TUMBLING (SIZE 10 MINUTES) GROUP BY …, with WINDOWSTART and WINDOWEND"
_WINDOW_FUNCTIONS = ("TUMBLE", "HOP", "CUMULATE", "SESSION")
_SET_OPERATION = "there are no set operations"
_ROWS = "the number of rows is written at the end: LIMIT 5"
_PATTERN = "a regular expression is matched by REGEXP_EXTRACT('^a', t) IS NOT NULL"
_EXPLODE = "the elements of an array become rows in SELECT: SELECT id, EXPLODE(tags) AS tag FROM a"
_MOMENT = "a stream joined with a table gets the table's row of that moment: FROM a JOIN t ON a.id = t.id"
_LATEST = "the latest of each group: SELECT k, LATEST_BY_OFFSET(v) FROM a GROUP BY k"
_IN_QUERY = "a query is allowed in FROM only: join it, FROM a JOIN b ON a.id = b.id"
_ARRAY = "an array is written ARRAY['a', 'b']"
_SEMI = "it is a JOIN on the key of a table, or a LEFT JOIN with WHERE t.id IS NULL for the rows without one"
# In a query, and in whatever else has none of the above.
CLAUSES = {
    **{f"{name} ( … , INTERVAL …": _WINDOW for name in (*_WINDOW_FUNCTIONS, "TUMBLE_START", "TUMBLE_END")},
    **{f"{join} {name} (": _WINDOW for name in _WINDOW_FUNCTIONS for join in ("FROM", "JOIN")},
    "FROM TABLE (": _WINDOW,
    "TUMBLING ( …": "WINDOW TUMBLING (SIZE 1 HOUR)",
    "HOPPING ( …": "WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 10 MINUTES)",
    ", ADVANCE": "a window that advances is WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 10 MINUTES)",
    "ADVANCE": "a window that advances is WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 10 MINUTES)",
    "INTERVAL …": "a time is moved by TIMESTAMPADD(HOURS, 1, t) and TIMESTAMPSUB; a duration is written 1 HOUR",
    "ORDER": "ORDER BY comes after HAVING, before LIMIT",
    "OFFSET": "OFFSET comes after LIMIT",
    "UNION": "UNION comes between whole selections, before ORDER BY and LIMIT; put others in parentheses",
    "* EXCEPT (": "the columns are named: SELECT a, b FROM …",
    "* EXCLUDE": "the columns are named: SELECT a, b FROM …",
    "EXCEPT": _SET_OPERATION,
    "INTERSECT": _SET_OPERATION,
    "MINUS": _SET_OPERATION,
    "OVER": "OVER comes after a call: SUM(v) OVER (PARTITION BY k ORDER BY ROWOFFSET)",
    "RANGE": "OVER takes a number of rows, ROWS 9 PRECEDING, or a time: ORDER BY ROWTIME RANGE 1 HOUR PRECEDING",
    "AND … FOLLOWING": "a row does not wait for those after it: ROWS BETWEEN 9 PRECEDING AND CURRENT ROW",
    "QUALIFY": "FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ROWOFFSET) AS n FROM a) WHERE n = 1",
    "DISTINCT ON": _LATEST,
    "FILTER (": "the rows of an aggregate: COUNT(*) FILTER (WHERE v > 3)",
    "WITHIN GROUP": "aggregates take the rows in the order in which they come",
    "GROUP BY ALL": "the columns of a group are named: GROUP BY a, b",
    "CROSS": "there is no CROSS JOIN: sources are joined ON equal columns",
    "OUTER": "an outer join is a LEFT JOIN, RIGHT JOIN or FULL JOIN",
    "NATURAL": "the columns of a join are written out: ON a.id = b.id",
    "SEMI": _SEMI,
    "ANTI": _SEMI,
    "USING": "the columns of a join are written out: ON a.id = b.id",
    "FOR SYSTEM_TIME": _MOMENT,
    "VERSION AS": "a pull query sees the rows of now",
    "TIMESTAMP AS": "a pull query sees the rows of now",
    "LATERAL": _EXPLODE,
    "UNNEST": _EXPLODE,
    ", UNNEST": _EXPLODE,
    ", LATERAL": _EXPLODE,
    "MATCH_RECOGNIZE": "patterns of rows are not searched for: join a stream with itself, WITHIN a time",
    "TABLESAMPLE": "a part of the rows is WHERE RANDOM() < 0.1",
    "TOP": _ROWS,
    "FETCH": _ROWS,
    "ILIKE": "LIKE regards the case: UCASE(a) LIKE 'X%'",
    "RLIKE": _PATTERN,
    "REGEXP": _PATTERN,
    "SIMILAR": _PATTERN,
    "DIV": "whole numbers are divided by /, without a remainder; that is %",
    "IN ( SELECT": _IN_QUERY,
    "EXISTS ( SELECT": _IN_QUERY,
    "EXISTS (": _IN_QUERY,
    "EXTRACT ( … FROM": "a part of a time is CAST(FORMAT_TIMESTAMP(t, 'yyyy') AS INT)",
    "SUBSTRING ( … FROM": "SUBSTRING(text, 2, 3)",
    "POSITION ( … IN …": "INSTR(text, 'part')",
    "IN …": "the values are put in parentheses: IN (1, 2)",
    "NOT NULL": "did you mean IS NOT NULL?",
    "TRIM ( … … FROM": "TRIM(text) takes blanks away, REGEXP_REPLACE(text, '^x+|x+$', '') others",
    "COLLATE": "text is compared character by character",
    "( [": _ARRAY,
    ", [": _ARRAY,
    "= [": _ARRAY,
    "TRY_CAST ( … AS": "CAST is NULL where it cannot convert, and logs it",
    "ROW <": _STRUCT,
    "FROM … .": _NO_SCHEMA,
    "JOIN … .": _NO_SCHEMA,
    "… . … .": "a field of a STRUCT is written column->field; there is no schema before a source",
}
_BY_STATEMENT = {
    "ALTER": ALTER,
    "CREATE": DEFINITION,
    "DROP": DROP,
    "INSERT": INSERT,
    "LIST": SHOW,
    "PRINT": PRINT,
    "SET": SET,
    "SHOW": SHOW,
}


def hint_at(words: Sequence[str], index: int, expects_source: bool) -> str:
    """The hint for a phrase that includes the unexpected word at `index` of a statement, or ""."""
    return next((hint for phrase, hint in _phrases(words, index, expects_source) if _ends(phrase, words, index, 0)), "")


def hint_before(words: Sequence[str], index: int, expects_source: bool) -> str:
    """The hint for a phrase that ends before the unexpected word at `index` of a statement, or ""."""
    return next((hint for phrase, hint in _phrases(words, index, expects_source) if _ends(phrase, words, index, 1)), "")


def _phrases(words: Sequence[str], index: int, expects_source: bool) -> Iterator[tuple[list[str], str]]:
    """The phrases of the place, the particular ones first; `expects_source` = STREAM or TABLE could come here."""
    for table in _tables(words, index, expects_source):
        for phrase, hint in table.items():
            yield phrase.split(), hint


def _tables(words: Sequence[str], index: int, expects_source: bool) -> Iterator[Mapping[str, str]]:
    before = words[:index]
    if not index:
        yield STATEMENTS
        return
    if expects_source:
        yield OBJECTS
    if "SELECT" not in before and words[0] in _BY_STATEMENT:
        if words[0] == "CREATE" and before.count("(") > before.count(")") and not {"WITH", "AS"} & set(before):
            yield COLUMNS
        yield _BY_STATEMENT[words[0]]
    yield CLAUSES


def _ends(phrase: Sequence[str], words: Sequence[str], index: int, behind: int) -> bool:
    """True if the phrase is in `words` and ends just before `index` (behind = 1), or at it or after it (behind = 0)."""
    starts = [index - len(phrase)] if behind else range(index - len(phrase) + 1, index + 1)
    return any(start >= 0 and _matches(phrase, words[start : start + len(phrase)]) for start in starts)


def _matches(phrase: Sequence[str], words: Sequence[str]) -> bool:
    return len(phrase) == len(words) and all(p in (w, "…") for p, w in zip(phrase, words, strict=True))
