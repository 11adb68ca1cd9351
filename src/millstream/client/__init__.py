"""A client of the REST API, for programs in Python: docs/python-client.md. Neither Spark nor the engine is imported."""

from millstream.client.acknowledgements import Acknowledgement
from millstream.client.aio import AsyncConnection, AsyncPullRows, AsyncPushRows, connect_async
from millstream.client.connection import Connection, connect
from millstream.client.errors import (
    ConnectionFailed,
    InsertError,
    MillstreamError,
    MissingPackage,
    RequestTimeout,
    StatementRefused,
    UnexpectedAnswer,
)
from millstream.client.exchange import RetryPolicy
from millstream.client.pull import PullRows, PushRows
from millstream.client.results import (
    ColumnInfo,
    CommandResult,
    FunctionInfo,
    ListResult,
    NoticeResult,
    PropertyInfo,
    QueryInfo,
    QueryResult,
    Result,
    SourceInfo,
    SourceResult,
    StatementResult,
    TopicInfo,
    VariableInfo,
)
from millstream.client.types import ColumnType

__all__ = [
    "Acknowledgement",
    "AsyncConnection",
    "AsyncPullRows",
    "AsyncPushRows",
    "ColumnInfo",
    "ColumnType",
    "CommandResult",
    "Connection",
    "ConnectionFailed",
    "FunctionInfo",
    "InsertError",
    "ListResult",
    "MillstreamError",
    "MissingPackage",
    "NoticeResult",
    "PropertyInfo",
    "PullRows",
    "PushRows",
    "QueryInfo",
    "QueryResult",
    "RequestTimeout",
    "Result",
    "RetryPolicy",
    "SourceInfo",
    "SourceResult",
    "StatementRefused",
    "StatementResult",
    "TopicInfo",
    "UnexpectedAnswer",
    "VariableInfo",
    "connect",
    "connect_async",
]
