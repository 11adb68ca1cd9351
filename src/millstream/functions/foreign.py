"""Functions of other SQL dialects, by name, with what is written here: the hints for functions that do not exist."""

_NOW = "the time now is UNIX_TIMESTAMP() in milliseconds, FROM_UNIXTIME(UNIX_TIMESTAMP()) as a TIMESTAMP"
_CONDITION = "write CASE WHEN a > 1 THEN b ELSE c END"
_TRUNCATED = "write FROM_UNIXTIME(UNIX_TIMESTAMP(t) / 3600000 * 3600000) for the hour of a TIMESTAMP"
_DISTANCE = "write (UNIX_TIMESTAMP(b) - UNIX_TIMESTAMP(a)) / 60000 for minutes, UNIX_DATE(b) - UNIX_DATE(a) for days"
_FORMATTED = "write FORMAT_TIMESTAMP(t, 'yyyy-MM-dd HH:mm')"
_PATTERN = "write REGEXP_EXTRACT('^a', text) IS NOT NULL"
_JSON = "write EXTRACTJSONFIELD(text, '$.field')"
_JOINED = "write ARRAY_JOIN(COLLECT_LIST(v), ',')"
_COUNTED = "write SUM(CASE WHEN a > 1 THEN 1 ELSE 0 END)"
_WINDOW = "a window is a clause: FROM a WINDOW TUMBLING (SIZE 10 MINUTES) GROUP BY …, with WINDOWSTART and WINDOWEND"
_EXTREME = "write LATEST_BY_OFFSET(v) for the last row's, TOPK(a, v, 1) for that of the greatest a"
_OVER = "OVER (PARTITION BY k ORDER BY ROWOFFSET)"
_NEXT = f"a row does not wait for the next one: LAG(v) {_OVER} is the value of the row before"
_RANK = f"write TOPK(v, 3) for the greatest of a group, or ROW_NUMBER() {_OVER} for the order of arrival"
_PARTS = {
    "YEAR": "yyyy",
    "QUARTER": "Q",
    "MONTH": "M",
    "DAY": "d",
    "DAYOFMONTH": "d",
    "DAYOFYEAR": "D",
    "DAYOFWEEK": "e",
    "HOUR": "H",
    "MINUTE": "m",
    "SECOND": "s",
}
_WINDOWS = ("TUMBLE", "HOP", "CUMULATE", "SESSION")
# Those that other dialects write without parentheses, as a column.
NOW = ("CURRENT_TIMESTAMP", "CURRENT_DATE", "LOCALTIMESTAMP")
HINTS = {
    **dict.fromkeys(("NOW", "GETDATE", "SYSDATE", "PROCTIME", "LOCALTIMESTAMP", "CURRENT_TIMESTAMP"), _NOW),
    **dict.fromkeys(("CURRENT_DATE", "CURDATE", "TODAY"), "today is FROM_DAYS(UNIX_DATE())"),
    **dict.fromkeys(("IF", "IIF", "DECODE", "NVL2"), _CONDITION),
    **dict.fromkeys(("NVL", "ISNULL", "ZEROIFNULL"), "write COALESCE(a, b)"),
    **dict.fromkeys(("DATE_TRUNC", "TRUNC_DATE", "TIMESTAMP_TRUNC", "DATE_BIN"), _TRUNCATED),
    **dict.fromkeys(("TO_TIMESTAMP", "TO_TIMESTAMP_LTZ"), "write PARSE_TIMESTAMP(text, 'yyyy-MM-dd HH:mm:ss')"),
    **dict.fromkeys(("TO_DATE", "STR_TO_DATE"), "write PARSE_DATE(text, 'yyyy-MM-dd')"),
    **dict.fromkeys(("DATE_FORMAT", "TO_CHAR", "STRFTIME"), _FORMATTED),
    **dict.fromkeys(("TIMESTAMPDIFF", "DATEDIFF", "DATE_DIFF"), _DISTANCE),
    "DATE_ADD": "write DATEADD(DAYS, 1, d), or TIMESTAMPADD(HOURS, 1, t)",
    "DATE_SUB": "write DATESUB(DAYS, 1, d), or TIMESTAMPSUB(HOURS, 1, t)",
    **dict.fromkeys(("EXTRACT", "DATE_PART"), "write CAST(FORMAT_TIMESTAMP(t, 'yyyy') AS INT)"),
    **{name: f"write CAST(FORMAT_TIMESTAMP(t, '{part}') AS INT)" for name, part in _PARTS.items()},
    **dict.fromkeys(("LENGTH", "CHAR_LENGTH", "CHARACTER_LENGTH"), "write LEN(text)"),
    "LOWER": "write LCASE(text)",
    "UPPER": "write UCASE(text)",
    **dict.fromkeys(("SUBSTR", "MID"), "write SUBSTRING(text, 1, 3)"),
    **dict.fromkeys(("POSITION", "LOCATE", "STRPOS", "CHARINDEX"), "write INSTR(text, 'part')"),
    **dict.fromkeys(("REGEXP_LIKE", "REGEXP_MATCHES", "RLIKE", "REGEXP"), _PATTERN),
    **dict.fromkeys(("SPLIT_PART", "SPLIT_INDEX", "SUBSTRING_INDEX"), "write SPLIT(text, ',')[1]; 1 is the first"),
    **dict.fromkeys(("GET_JSON_OBJECT", "JSON_VALUE", "JSON_QUERY", "JSON_EXTRACT", "FROM_JSON"), _JSON),
    "TO_JSON": "write TO_JSON_STRING(v)",
    **dict.fromkeys(("CARDINALITY", "ARRAY_SIZE"), "write ARRAY_LENGTH(a)"),
    "ELEMENT_AT": "write a[1], or m['key']",
    **dict.fromkeys(("UNNEST", "FLATTEN", "POSEXPLODE", "INLINE"), "write EXPLODE(a)"),
    **dict.fromkeys(("GROUP_CONCAT", "STRING_AGG", "LISTAGG"), _JOINED),
    "ARRAY_AGG": "write COLLECT_LIST(v)",
    **dict.fromkeys(("COUNT_IF", "COUNTIF"), _COUNTED),
    "SUM_IF": "write SUM(CASE WHEN a > 1 THEN v ELSE 0 END)",
    **dict.fromkeys(("APPROX_COUNT_DISTINCT", "APPROX_DISTINCT"), "write COUNT_DISTINCT(v)"),
    **dict.fromkeys(("FIRST", "ANY_VALUE"), "write EARLIEST_BY_OFFSET(v)"),
    "FIRST_VALUE": f"write EARLIEST_BY_OFFSET(v), or FIRST_VALUE(v) {_OVER}",
    **dict.fromkeys(("LAST", "LAST_VALUE"), "write LATEST_BY_OFFSET(v)"),
    **dict.fromkeys(("MAX_BY", "ARG_MAX"), _EXTREME),
    "LAG": f"write LAG(v) {_OVER}",
    "LEAD": _NEXT,
    "ROW_NUMBER": f"write ROW_NUMBER() {_OVER}",
    **dict.fromkeys(("RANK", "DENSE_RANK", "NTILE", "PERCENT_RANK", "CUME_DIST"), _RANK),
    **dict.fromkeys(("STDDEV", "STDDEV_POP"), "write STDDEV_SAMP(v)"),
    "CEILING": "write CEIL(a)",
    "POW": "write POWER(a, 2)",
    "MOD": "write a % b",
    "RAND": "write RANDOM()",
    "TRUNCATE": "write TRUNC(a)",
    "CHAR": "write CHR(65)",
    **dict.fromkeys(("TRY_CAST", "SAFE_CAST", "CONVERT", "TO_NUMBER", "TO_VARCHAR"), "write CAST(a AS INT)"),
    **dict.fromkeys(("ROW", "NAMED_STRUCT"), "write STRUCT(name := a, age := b)"),
    "MAP_FROM_ARRAYS": "write AS_MAP(k, v)",
    **dict.fromkeys((*_WINDOWS, *(f"{name}_{end}" for name in _WINDOWS for end in ("START", "END"))), _WINDOW),
}
