"""The stream of the processing log."""

from engine.test_state import logged
from millstream.catalog.facts import TopicFacts
from millstream.engine.log_stream import statement
from millstream.engine.state import EngineState, applied

NAME = "KSQL_PROCESSING_LOG"


def test_it_can_be_declared_again_and_again() -> None:
    command = logged(statement("a'b_log", NAME), {"a'b_log": TopicFacts(1)})
    once = applied(EngineState(), 0, logged(statement("log", NAME), {"log": TopicFacts(1)}))
    assert once.failure is None
    assert list(once.state.catalog.sources) == [NAME]
    assert command.text.count("''") == 1
    twice = applied(once.state, 1, logged(statement("log", NAME), {"log": TopicFacts(1)}))
    assert twice.outcome is not None
    assert twice.outcome.warning
