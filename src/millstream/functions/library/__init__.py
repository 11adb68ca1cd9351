"""The functions by family: each module is a table with one row for each function."""

from millstream.functions.library.aggregates import AGGREGATES
from millstream.functions.library.bytes import BYTES_FUNCTIONS
from millstream.functions.library.collections import COLLECTIONS
from millstream.functions.library.datetime import DATETIME
from millstream.functions.library.json import JSON
from millstream.functions.library.lambdas import LAMBDAS
from millstream.functions.library.nulls import NULLS
from millstream.functions.library.numeric import NUMERIC
from millstream.functions.library.table import TABLE
from millstream.functions.library.text import TEXT
from millstream.functions.library.url import URL

FAMILIES = (NUMERIC, COLLECTIONS, LAMBDAS, TEXT, BYTES_FUNCTIONS, JSON, NULLS, DATETIME, URL, TABLE, AGGREGATES)
