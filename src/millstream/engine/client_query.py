"""The common part of transient queries: their ids, the columns of their answers, and the messages at their ends."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from millstream.catalog.catalog import Source
from millstream.model.names import quoted
from millstream.model.types import SqlType
from millstream.plan.nodes import NamedExpression
from millstream.plan.pull_queries import is_key_of_answer
from millstream.plan.steps import TransientQuery

LIMIT_REACHED, COMPLETED = "Limit Reached", "Query Completed"


class ClientQuery:
    """The common part of transient queries: id, column names and types, and the header in ksqlDB's form (`schema`).

    `ending` is the final message that the client gets; subclasses implement the iteration and `close` (api.Rows).
    """

    push: bool
    short = False
    ending: str

    def __init__(self, answer: "AnswerColumns", id: str) -> None:
        self.query_id = id
        self.names, self.types, self.schema = answer.names, answer.types, answer.schema
        self.ending = COMPLETED


@dataclass(frozen=True, slots=True)
class AnswerColumns:
    """The columns of a query's answer: names, types, and the header in ksqlDB's form."""

    names: Sequence[str]
    types: Sequence[SqlType]
    schema: str


def answer_columns(query: TransientQuery) -> AnswerColumns:
    """The columns of a query's answer."""
    columns = tuple(query.plan.schema)
    header = ", ".join(_column(c, query) for c in query.plan.columns)
    return AnswerColumns([c.name for c in columns], [c.type for c in columns], header)


def _column(column: NamedExpression, query: TransientQuery) -> str:
    """A column in the form of ksqlDB's header: name and type, and KEY for key columns of pull queries on tables."""
    table = query.pulled_table
    key = " KEY" if table is not None and is_key_of_answer(column, table) else ""
    return f"{quoted(column.name)} {column.expression.type}{key}"


def new_id(source: Source, shared: bool = False) -> str:
    """A new query id in ksqlDB's form; `shared` is that of push v2."""
    return f"{'SCALABLE_PUSH_QUERY' if shared else 'transient'}_{source.name}_{secrets.randbits(62)}"
