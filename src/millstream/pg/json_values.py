"""INSERT of ARRAY, MAP and STRUCT columns: values that Postgres's clients write as JSON become the engine's literals.

    INSERT INTO orders (id, items) VALUES (1, '{"pen": 2}')    the column is a MAP<STRING, INT>, json for clients
    INSERT INTO orders (id, items) VALUES (1, MAP('pen' := 2));

An empty ARRAY or MAP has no literal in the engine's language; one whose elements are all filtered out takes its place.
"""

import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from millstream.catalog.catalog import Catalog
from millstream.client.literals import sql_literal
from millstream.model.errors import StatementError
from millstream.model.names import quoted
from millstream.model.schema import RecordPart
from millstream.model.types import Array, Map, SqlType, Struct
from millstream.pg.failures import ErrorPosition, PgError
from millstream.pg.script import EngineText
from millstream.security.roles import Principal
from millstream.syntax import tree
from millstream.syntax.parser import parse_one

INVALID_TEXT = "22P02"
_INSERT = re.compile(r"\s*INSERT\b", re.IGNORECASE)
# A text that may be JSON: whether it is a value of INSERT is known when the statement has been parsed.
_JSON_TEXT = re.compile(r"'\s*[{\[](?:[^']|'')*'")
NESTED = (Array, Map, Struct)


def with_json_values(text: EngineText, catalog: Catalog, principal: Principal) -> EngineText:
    """The statement with the JSON texts of an INSERT as values of their columns; any other statement as it is.

    One that the user may not execute is as it is, too: an error would show him the types of the columns. Raises PgError
    22P02 for a text that begins as JSON and is none, or that does not fit its column.
    """
    if not _INSERT.match(text.text) or not _JSON_TEXT.search(text.text):
        return text
    try:
        statement = parse_one(text.text)
    except StatementError:
        # The engine parses the statement again, and raises the error.
        return text
    if not isinstance(statement, tree.InsertValues) or principal.missing(statement, catalog):
        return text
    replacements = _replacements(statement, text, catalog)
    for (start, end), literal in sorted(replacements.items(), reverse=True):
        text = _replaced(text, start, end, literal)
    return text


def _replacements(statement: tree.InsertValues, text: EngineText, catalog: Catalog) -> Mapping[tuple[int, int], str]:
    """The literals that take the places of JSON texts, by (begin, end) in the statement."""
    source = catalog.sources.get(statement.target)
    if source is None:
        return {}
    types = {column.name: column.type for column in source.schema if column.part is not RecordPart.HEADER}
    replacements = {}
    for name, value in zip(statement.columns or types, statement.values, strict=False):
        type = types.get(name)
        if isinstance(value, tree.Literal) and isinstance(type, NESTED):
            start = ErrorPosition(value.span.line, value.span.column).offset(text.text)
            if match := _JSON_TEXT.match(text.text, start):
                replacements[match.span()] = _column_literal(str(value.value), name, type, text.position(start))
    return replacements


def _replaced(text: EngineText, start: int, end: int, literal: str) -> EngineText:
    longer = len(literal) - (end - start)
    origins = tuple((place + longer if place >= end else place, origin) for place, origin in text.origins)
    return EngineText(text.text[:start] + literal + text.text[end:], origins)


def _column_literal(text: str, name: str, type: SqlType, position: int) -> str:
    """A JSON text as a literal of a column's type. Raises PgError 22P02, with this position in the client's text."""
    try:
        return json_literal(json.loads(text, parse_float=Decimal), type)
    except json.JSONDecodeError as error:
        refusal = PgError(INVALID_TEXT, f"the value of {quoted(name)} is not valid JSON: {error}")
    except (ValueError, RecursionError) as error:
        hint = "fields of a STRUCT are named as DESCRIBE shows them"
        refusal = PgError(INVALID_TEXT, f"the JSON for {quoted(name)} is not a valid {type}: {error}", hint)
    refusal.position = position
    raise refusal


def json_literal(value: Any, type: SqlType) -> str:
    """A value of JSON as an SQL expression of `type`; numbers and texts are left to the engine's conversions.

    >>> from millstream.model.types import BIGINT, STRING
    >>> json_literal({"a": 1, "b": None}, Map(STRING, BIGINT))
    "MAP('a' := 1, 'b' := CAST(NULL AS BIGINT))"

    Raises ValueError for an object or a list where the type has another form.
    """
    match type, value:
        case _, None:
            return f"CAST(NULL AS {type})"
        case Struct(), Mapping():
            return _struct(value, type)
        case Map(key=_, value=inner), Mapping():
            return _map(value, inner)
        case Array(element=element), list():
            return _array(value, element)
        case Struct() | Map() | Array(), _:
            raise ValueError(f"{json.dumps(value, default=str)} is not a {type}")
        case _, list() | Mapping():
            raise ValueError(f"an object or a list is not a {type}")
    return sql_literal(value)


def _struct(value: Mapping[str, Any], type: Struct) -> str:
    """A STRUCT with all its fields; a name means the field that is spelt so, else the one in upper case."""
    names = {field.name for field in type.fields}
    values = {name if name in names else name.upper(): inner for name, inner in value.items()}
    if unknown := values.keys() - names:
        raise ValueError(f"it has no field {min(unknown)}")
    fields = (f"{quoted(f.name)} := {json_literal(values.get(f.name), f.type)}" for f in type.fields)
    return f"STRUCT({', '.join(fields)})"


def _map(value: Mapping[str, Any], type: SqlType) -> str:
    if not value:
        return f"FILTER(MAP('' := CAST(NULL AS {type})), (k, v) => FALSE)"
    entries = (f"{sql_literal(key)} := {json_literal(inner, type)}" for key, inner in value.items())
    return f"MAP({', '.join(entries)})"


def _array(value: Sequence[Any], type: SqlType) -> str:
    if not value:
        return f"FILTER(ARRAY[CAST(NULL AS {type})], x => FALSE)"
    return f"ARRAY[{', '.join(json_literal(inner, type) for inner in value)}]"
