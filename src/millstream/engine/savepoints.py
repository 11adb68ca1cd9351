"""SAVEPOINT: a copy of a query's checkpoint, taken while the query is stopped; another query can start from it."""

from millstream.engine.api import Entity
from millstream.engine.context import EngineContext, StatementContext
from millstream.engine.entities import build
from millstream.model.errors import StatementError
from millstream.model.setting_table import SAVEPOINT, SETTINGS
from millstream.plan.statements import running_query
from millstream.syntax import tree


def take(statement: tree.TakeSavepoint, context: StatementContext, engine: EngineContext) -> Entity:
    """Stop a query in an orderly way, copy its checkpoint, and start it again.

    Raises StatementError if that is not possible.
    """
    at = statement.span
    id = running_query(statement.query, "save", at, engine.state.catalog)
    valid = SETTINGS[SAVEPOINT].valid
    if not statement.name or valid.read(statement.name) is None:
        raise StatementError(f"'{statement.name}' is not a valid savepoint name", at, f"valid is {valid.words}")
    if engine.supervisor.health(id) is None:
        hint = "send it to the server that does: it has the query's checkpoint"
        raise StatementError(f"this server does not run query {id}", at, hint)
    engine.spark.check_new_savepoint(statement.name, at)
    spark, lease = engine.spark, engine.lease
    path = engine.supervisor.while_stopped(
        id, lambda query: spark.take_savepoint(query, statement.name, lambda: lease.held)
    )
    hint = f"a query that is created under SET '{SAVEPOINT}'='{statement.name}' starts from it"
    return build.warning(context.text, f"Savepoint {statement.name} of query {id} is {path}: {hint}.")
