"""Functions of dates, times and timestamps; text is parsed and formatted by java.time patterns."""

from collections.abc import Sequence

from millstream.functions.declare import Function, Lowering, Signature
from millstream.functions.signatures import parse_signature, scalar
from millstream.model.types import SqlType
from millstream.model.units import DAY, MILLISECONDS


def _row(name: str, description: str, signatures: Sequence[Signature], example: str, answer: str) -> Function:
    return scalar(name, "date and time", description, signatures, example, answer)


def _shift(sign: str, template: str) -> Lowering:
    """A lowering whose template contains {at} for the point in time and {by} for the milliseconds to add."""

    def lower(texts: Sequence[str], types: Sequence[SqlType | None], result: SqlType) -> str:
        by = f"{sign} cast({texts[1]} as bigint) * {MILLISECONDS[texts[0]]}L"
        return template.replace("{at}", texts[2]).replace("{by}", by)

    return lower


_SHIFTED = {
    # As in ksqlDB a part of a day is cut off, towards 1970.
    "DATE": f"date_from_unix_date(cast((unix_date({{at}}) * {DAY}L {{by}}) div {DAY}L as int))",
    "TIME": f"pmod({{at}} {{by}}, {DAY}L)",
    "TIMESTAMP": "timestamp_millis(unix_millis({at}) {by})",
}


def _moved(type_name: str, verb: str, example: str, answer: str) -> Function:
    """A row for DATEADD or a function like it."""
    sign, word = {"ADD": ("+", "later"), "SUB": ("-", "earlier")}[verb]
    return _row(
        f"{type_name}{verb}",
        f"The {type_name} that many units (MILLISECONDS to DAYS) {word}"
        + ("; it wraps around at midnight." if type_name == "TIME" else "."),
        (
            parse_signature(
                f"(unit INTERVALUNIT, count INTEGER, at {type_name}) -> {type_name}", _shift(sign, _SHIFTED[type_name])
            ),
        ),
        example,
        answer,
    )


def _zoned(text: str, spark: str, zone: str = "'GMT'") -> tuple[Signature, ...]:
    """With and without a time zone as the last argument; `zone` is Spark SQL text of the default zone."""
    start, result = text.rsplit(")", 1)
    return (
        parse_signature(text, f"{spark}({{*}}, {zone})"),
        parse_signature(f"{start}, zone STRING){result}", f"{spark}({{*}})"),
    )


DATETIME = (
    _moved("DATE", "ADD", "DATEADD(DAYS, 5, '2020-02-27')", "2020-03-03"),
    _moved("DATE", "SUB", "DATESUB(DAYS, 1, '2020-03-01')", "2020-02-29"),
    _moved("TIME", "ADD", "TIMEADD(HOURS, 2, '23:30:00')", "01:30"),
    _moved("TIME", "SUB", "TIMESUB(MINUTES, 1, '00:00:00')", "23:59"),
    _moved("TIMESTAMP", "ADD", "TIMESTAMPADD(HOURS, 1, '2020-01-01T23:30:00')", "2020-01-02T00:30:00.000"),
    _moved("TIMESTAMP", "SUB", "TIMESTAMPSUB(SECONDS, 1, '2020-01-01T00:00:00')", "2019-12-31T23:59:59.000"),
    _row(
        "PARSE_DATE",
        "Parses the DATE that text begins with, by a pattern without times; missing fields are those of 1970-01-01.",
        (parse_signature("(text STRING, pattern STRING) -> DATE", "ms_parse_date({*})"),),
        "PARSE_DATE('11/05/2019', 'dd/MM/yyyy')",
        "2019-05-11",
    ),
    _row(
        "PARSE_TIME",
        "Parses text as a TIME, by a pattern without dates; missing fields are 0.",
        (parse_signature("(text STRING, pattern STRING) -> TIME", "ms_parse_time({*})"),),
        "PARSE_TIME('01:00:30 PM', 'hh:mm:ss a')",
        "13:00:30",
    ),
    _row(
        "PARSE_TIMESTAMP",
        "The TIMESTAMP that a text says in a pattern, in that zone (GMT unless given); what it leaves out is that of"
        " 1970-01-01T00:00.",
        _zoned("(text STRING, pattern STRING) -> TIMESTAMP", "ms_parse_timestamp"),
        "PARSE_TIMESTAMP('2020-06-01 12:00', 'yyyy-MM-dd HH:mm', 'Europe/Paris')",
        "2020-06-01T10:00:00.000",
    ),
    _row(
        "FORMAT_DATE",
        "Formats a DATE by a pattern.",
        (parse_signature("(date DATE, pattern STRING) -> STRING", "ms_format_date({*})"),),
        "FORMAT_DATE('2020-02-29', 'dd MMM yyyy')",
        "29 Feb 2020",
    ),
    _row(
        "FORMAT_TIME",
        "Formats a TIME by a pattern.",
        (parse_signature("(time TIME, pattern STRING) -> STRING", "ms_format_time({*})"),),
        "FORMAT_TIME('13:05:00', 'hh:mm a')",
        "01:05 PM",
    ),
    _row(
        "FORMAT_TIMESTAMP",
        "Formats a TIMESTAMP by a pattern, in a time zone (by default GMT).",
        _zoned("(timestamp TIMESTAMP, pattern STRING) -> STRING", "ms_format_timestamp"),
        "FORMAT_TIMESTAMP('2020-06-01T10:00:00', 'HH:mm zzz', 'Europe/Paris')",
        "12:00 CEST",
    ),
    _row(
        "FROM_DAYS",
        "The DATE that many days after 1970-01-01.",
        (parse_signature("(days INTEGER) -> DATE", "date_from_unix_date({0})"),),
        "FROM_DAYS(31)",
        "1970-02-01",
    ),
    _row(
        "FROM_UNIXTIME",
        "The TIMESTAMP that many milliseconds after 1970-01-01T00:00.",
        (parse_signature("(milliseconds BIGINT) -> TIMESTAMP", "timestamp_millis({0})"),),
        "FROM_UNIXTIME(1500)",
        "1970-01-01T00:00:01.500",
    ),
    _row(
        "UNIX_DATE",
        "The days from 1970-01-01 to a DATE, or to today.",
        (parse_signature("() -> INTEGER", "ms_today()"), parse_signature("(date DATE) -> INTEGER", "unix_date({0})")),
        "UNIX_DATE('1970-02-01')",
        "31",
    ),
    _row(
        "UNIX_TIMESTAMP",
        "The milliseconds from 1970-01-01T00:00 to a TIMESTAMP, or to now.",
        (
            parse_signature("() -> BIGINT", "ms_now()"),
            parse_signature("(timestamp TIMESTAMP) -> BIGINT", "unix_millis({0})"),
        ),
        "UNIX_TIMESTAMP('1970-01-01T00:00:01.5')",
        "1500",
    ),
    _row(
        "CONVERT_TZ",
        "The TIMESTAMP with the same local time in the second zone as the given one in the first.",
        (parse_signature("(timestamp TIMESTAMP, from STRING, to STRING) -> TIMESTAMP", "ms_convert_tz({*})"),),
        "CONVERT_TZ('2020-06-01T10:00:00', 'UTC', '+02:00')",
        "2020-06-01T12:00:00.000",
    ),
    _row(
        "DATETOSTRING",
        "Formats days from 1970-01-01 by a pattern (newer: FORMAT_DATE).",
        (parse_signature("(days INTEGER, pattern STRING) -> STRING", "ms_format_date(date_from_unix_date({0}), {1})"),),
        "DATETOSTRING(18321, 'yyyy-MM-dd')",
        "2020-02-29",
    ),
    _row(
        "STRINGTODATE",
        "Parses text as a date, by a pattern, into days from 1970-01-01 (newer: PARSE_DATE).",
        (parse_signature("(text STRING, pattern STRING) -> INTEGER", "ms_string_to_date({*})"),),
        "STRINGTODATE('01-Jan-2022', 'dd-MMM-yyyy')",
        "18993",
    ),
    _row(
        "STRINGTOTIMESTAMP",
        "The milliseconds from 1970-01-01T00:00 to what a text says in a pattern, in that zone (the server's unless"
        " given; PARSE_TIMESTAMP is the newer way).",
        _zoned("(text STRING, pattern STRING) -> BIGINT", "ms_string_to_timestamp", "ms_server_zone()"),
        "STRINGTOTIMESTAMP('2020-06-01 12:00', 'yyyy-MM-dd HH:mm', 'UTC')",
        "1591012800000",
    ),
    _row(
        "TIMESTAMPTOSTRING",
        "Milliseconds from 1970-01-01T00:00 as text in a pattern, in that zone (the server's unless given;"
        " FORMAT_TIMESTAMP is the newer way).",
        _zoned("(milliseconds BIGINT, pattern STRING) -> STRING", "ms_timestamp_to_string", "ms_server_zone()"),
        "TIMESTAMPTOSTRING(1591012800000, 'yyyy-MM-dd HH:mm', 'UTC')",
        "2020-06-01 12:00",
    ),
)
