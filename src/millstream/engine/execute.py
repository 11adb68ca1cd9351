"""From a request's text to its answers: statements are executed in order, each on the result of those before it.

    SET 'auto.offset.reset' = 'earliest';     the session's: in effect for the statements after it     no entity
    CREATE STREAM s (…) WITH (…);             changes.py: planned, logged, waited for                  currentStatus
    INSERT INTO s (id) VALUES (1);            insert.py: a record in Kafka                             no entity
    SHOW STREAMS;                             answers.py: read from the catalog                        streams

Each statement is parsed when the one before it has been executed, whose types and settings its text may use. A failure
ends the request: RequestFailed has the entities of the statements before it, which remain executed. Only the grammar is
checked for all statements in advance (`check_syntax`).
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka import KafkaException

from millstream.analysis import limits
from millstream.catalog.catalog import Source
from millstream.engine import answers, assertions, changes, connectors, insert, savepoints, topic_access
from millstream.engine.api import Entity, Request, RequestFailed
from millstream.engine.context import EngineContext, StatementContext
from millstream.engine.entities import build
from millstream.engine.log import CommandTopicReplaced
from millstream.engine.schemas import NoRegistry
from millstream.engine.session import RequestSession
from millstream.engine.supervisor import CannotRun
from millstream.model.errors import StatementError
from millstream.model.settings import SettingRefused, replaced_variables
from millstream.plan.statements import unknown
from millstream.plan.views import with_view_queries
from millstream.services.kafka_errors import is_denial, message
from millstream.syntax import tree
from millstream.syntax.parser import count, split
from millstream.syntax.variables import never_defined

BAD_REQUEST, BAD_STATEMENT, USE_QUERY, FORBIDDEN, SERVER_ERROR = 40000, 40001, 40002, 40300, 50000
MOST_STATEMENTS = "millstream.request.max.statements"
NO_REGISTRY = 42801
# How long a statement waits, in seconds, for the command that its request names to be applied.
CATCH_UP = 5.0
TOO_DEEP = "the statement nests too deeply to be planned\n  hint: split it: CREATE a stream for an inner part"

READING_STATEMENTS = tree.Show | tree.Describe | tree.DescribeAll | tree.DescribeFunction | tree.Explain
CHANGING = (
    tree.CreateSource
    | tree.CreateAs
    | tree.InsertInto
    | tree.Drop
    | tree.AlterSource
    | tree.AlterQuery
    | tree.AlterSystem
    | tree.CutOver
    | tree.CreateType
    | tree.DropType
    | tree.CreateIndex
    | tree.DropIndex
    | tree.CreateFunction
    | tree.DropFunction
    | tree.CreateView
    | tree.DropView
)


def execute(request: Request, engine: EngineContext) -> list[Entity]:
    """Execute the statements of a request; returns the entities of those that have one. Raises RequestFailed."""
    session = RequestSession(request, engine.server)
    entities: list[Entity] = []
    with refusals(lambda: request.text, entities):
        check_syntax(request, engine)
        for context in statements(request.text, session, engine):
            with refusals(lambda context=context: context.text, entities):  # type: ignore[misc]
                check_right(context.statement, context.text, request, engine)
                answer = one(context, request, engine)
            if answer is not None:
                entities.append(answer)
    return entities


def statements(text: str, session: RequestSession, engine: EngineContext) -> Iterator[StatementContext]:
    """The statements of a text, each parsed after the one before it was executed; checks the size of each.

    Raises StatementError, RequestFailed 50301 if the one before it is still not executed.
    """
    check_count(text, session.settings)
    for parsed in split(text, variables=lambda: replaced_variables(session.variables, session.settings)):
        catch_up(session.sequence, engine)
        catalog = engine.state.catalog
        statement = with_view_queries(parsed.statement, catalog)
        limits.check(statement, session.settings, catalog.types)
        yield StatementContext(statement, parsed.text, session)


def check_syntax(request: Request, engine: EngineContext) -> None:
    """Raises StatementError if the grammar does not accept one of the statements, and RequestFailed 40002 if one
    answers with rows, before any is executed.

    A statement after one that changes what variables mean for the server, or a SET that is refused, is not checked.
    """
    session = RequestSession(request, engine.server)
    check_count(request.text, session.settings)
    if request.text.count(";") < 2:
        return
    checked = []
    for parsed in split(request.text, variables=lambda: replaced_variables(session.variables, session.settings)):
        if isinstance(parsed.statement, tree.AlterSystem):
            break
        checked.append(parsed)
        try:
            session.apply(parsed.statement)
        except SettingRefused:
            break
    for parsed in checked:
        check_no_rows(parsed.statement, parsed.text)


def check_no_rows(statement: tree.Statement, text: str) -> None:
    """Raises RequestFailed 40002 for a statement that answers with rows."""
    if isinstance(statement, tree.QueryStatement | tree.Print):
        keyword = "PRINT" if isinstance(statement, tree.Print) else "SELECT"
        raise RequestFailed(USE_QUERY, f"{keyword} answers with rows: send it to /query or /query-stream", text)


def check_count(text: str, settings: Mapping[str, str]) -> None:
    """Raises StatementError if a text has more statements than a request may have, before any is executed."""
    most = int(settings[MOST_STATEMENTS])
    # Each statement ends with a semicolon; the cheap count avoids parsing the text only to count.
    if text.count(";") > most and (number := count(text)) > most:
        raise StatementError(f"the request has {number} statements, and may have {most}", None, MOST_STATEMENTS)


def one(context: StatementContext, request: Request, engine: EngineContext) -> Entity | None:
    """Execute one statement of a request; returns its entity if it has one. Raises exceptions that `refusals`
    converts."""
    statement = context.statement
    if isinstance(statement, tree.Undefine) and statement.name.upper() not in context.session.variables:
        return build.warning(context.text, never_defined(statement.name))
    if context.session.apply(statement):
        return None
    check_no_rows(statement, context.text)
    match statement:
        case tree.InsertValues():
            insert.values(context, engine)
            return None
        case tree.DeleteFrom():
            insert.delete(context, engine)
            return None
        case tree.ControlQuery():
            return changes.control(context, engine)
        case tree.TakeSavepoint():
            return savepoints.take(statement, context, engine)
        case tree.AssertTopic():
            return assertions.topic(context, engine)
        case tree.AssertSchema():
            return assertions.schema(context, engine)
    if connectors.is_about_connectors(statement):
        return connectors.execute(context, engine, lambda source: _may_describe(source, request, engine))
    if isinstance(statement, READING_STATEMENTS):
        return answers.answer(statement, context, engine)
    if isinstance(statement, CHANGING):
        entity = changes.change(context, engine)
        # What ALTER SYSTEM sets is in force for the request's next statement.
        context.session.server = engine.server
        return entity
    raise unknown(statement)


def only(request: Request, engine: EngineContext) -> StatementContext:
    """The only statement of a request that answers with rows; SETs and DEFINEs may precede it.

    Raises RequestFailed if there is none, or more than one.
    """
    with refusals(lambda: request.text):
        context = parsed(request.text, request, engine)
    check_right(context.statement, context.text, request, engine)
    return context


def parsed(text: str, request: Request, engine: EngineContext) -> StatementContext:
    """The only statement of a text but for SETs and DEFINEs, in the request's session.

    Raises RequestFailed if there is none, or more than one; StatementError.
    """
    session = RequestSession(request, engine.server)
    contexts = [context for context in statements(text, session, engine) if not session.apply(context.statement)]
    if len(contexts) != 1:
        raise RequestFailed(BAD_STATEMENT, f"Expected exactly one KSQL statement; found {len(contexts)} instead", text)
    return contexts[0]


def check_right(statement: tree.Statement, text: str, request: Request, engine: EngineContext) -> None:
    """Raise RequestFailed 40300 if the user lacks a right that the statement needs; `text` is the statement's own."""
    missing = request.missing_right(statement, engine.state.catalog)
    if missing:
        raise RequestFailed(FORBIDDEN, missing, text)


def _may_describe(source: Source, request: Request, engine: EngineContext) -> bool:
    return not request.missing_right(tree.Describe(source.name), engine.state.catalog)


def catch_up(sequence: int | None, engine: EngineContext) -> None:
    """Wait until command number `sequence` was applied. Raises RequestFailed 50301 if that takes too long."""
    if sequence is not None and sequence >= 0 and not engine.follower.wait(sequence + 1, CATCH_UP):
        message = f"Timed out while waiting for a previous command to execute. command sequence number: {sequence}"
        raise RequestFailed(changes.CATCH_UP_TIMEOUT, message)


@contextmanager
def refusals(text: Callable[[], str], entities: list[Entity] | None = None) -> Iterator[None]:
    """Converts exceptions into a RequestFailed about the statement that `text` returns, after these `entities`."""
    try:
        yield
    except RequestFailed as failure:
        raise RequestFailed(failure.code, failure.message, failure.statement, entities or failure.entities) from failure
    except NoRegistry as error:
        raise RequestFailed(NO_REGISTRY, str(error), text(), entities or ()) from error
    except StatementError as error:
        raise RequestFailed(BAD_STATEMENT, str(error), text(), entities or ()) from error
    except RecursionError as error:
        raise RequestFailed(BAD_STATEMENT, TOO_DEEP, text(), entities or ()) from error
    except SettingRefused as refused:
        raise RequestFailed(BAD_STATEMENT, str(refused), text(), entities or ()) from refused
    except CannotRun as failure:
        raise RequestFailed(SERVER_ERROR, f"the query cannot run: {failure}", text(), entities or ()) from failure
    except CommandTopicReplaced as replaced:
        raise RequestFailed(SERVER_ERROR, str(replaced), text(), entities or ()) from replaced
    except topic_access.AccessDenied as denied:
        raise RequestFailed(topic_access.FORBIDDEN, str(denied), text(), entities or ()) from denied
    except KafkaException as failure:
        code = topic_access.FORBIDDEN if is_denial(failure) else SERVER_ERROR
        raise RequestFailed(code, message(failure), text(), entities or ()) from failure
