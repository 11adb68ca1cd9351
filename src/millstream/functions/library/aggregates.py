"""Aggregate functions by name, so that a call of one is recognised; how they compute is not declared yet."""

from millstream.functions.declare import Function, FunctionKind

_DESCRIPTIONS = {
    "ATTR": "The value that all rows agree on; NULL where they do not.",
    "AVG": "The mean of the values that are not NULL.",
    "COLLECT_LIST": "All values in order of arrival, NULLs among them.",
    "COLLECT_SET": "The distinct values in the order they were first seen.",
    "CORRELATION": "The Pearson correlation of two columns.",
    "COUNT": "The number of rows, or of rows where the argument is not NULL.",
    "COUNT_DISTINCT": "About how many distinct values there are.",
    "EARLIEST_BY_OFFSET": "The first value, or the first n values, that arrived.",
    "HISTOGRAM": "How often each text was seen.",
    "LATEST_BY_OFFSET": "The last value, or the last n values, that arrived.",
    "MAX": "The greatest value.",
    "MIN": "The least value.",
    "STDDEV_SAMP": "The sample variance (a name kept for compatibility).",
    "STDDEV_SAMPLE": "The sample standard deviation.",
    "SUM": "The sum of the values.",
    "SUM_LIST": "The sum of the elements of all arrays.",
    "TOPK": "The k greatest values.",
    "TOPKDISTINCT": "The k greatest distinct values.",
}

AGGREGATES = tuple(
    Function(name, FunctionKind.AGGREGATE, "aggregate", description, ()) for name, description in _DESCRIPTIONS.items()
)
