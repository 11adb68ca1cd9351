"""Every signature that is declared is exercised by an example, in each way that its Spark SQL text can differ."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from functions.aggregating import OVER, SETTINGS, Aggregated
from functions.calling import calls_in, cases_in, typed_call
from functions.samples import NESTED, PLAIN, bound, is_generic
from millstream.analysis import typed_expressions as typed
from millstream.functions import FUNCTIONS
from millstream.functions.declare import Function, LambdaType, Signature
from millstream.functions.resolve import call_text
from millstream.functions.signatures import call_sql
from millstream.functions.sparktype import spark_type
from millstream.model.errors import StatementError
from millstream.model.types import STRING, SqlType

HERE = Path(__file__).parent
Types = Sequence[SqlType | None]


def examples() -> Iterator[typed.TypedCall]:
    """Each call in the documentation and in the files of calls, with those inside it."""
    texts = [f.example for f in FUNCTIONS.values()]
    for path in (*sorted((HERE / "calls").glob("*.txt")), HERE / "aggregates.txt"):
        texts += [text for text, _ in cases_in(path)]
    for text in texts:
        yield from calls_in(Aggregated(text).call if OVER in text else typed_call(text))


@pytest.fixture(scope="module")
def calls() -> list[typed.TypedCall]:
    return list(examples())


def signatures() -> Iterator[tuple[Function, Signature]]:
    return ((f, s) for f in FUNCTIONS.values() for s in f.signatures)


def test_each_signature_has_an_example(calls: list[typed.TypedCall]) -> None:
    seen = {id(c.resolved.signature) for c in calls}
    assert [call_text(f.name, s) for f, s in signatures() if id(s) not in seen] == []


def test_repeated_parameters_are_called_with_none_and_with_several_arguments(calls: list[typed.TypedCall]) -> None:
    seen = {(id(c.resolved.signature), min(_repeats(c), 2)) for c in calls if c.resolved.signature.variadic is not None}
    varying = [(f, s) for f, s in signatures() if s.variadic is not None]
    assert [(call_text(f.name, s), n) for f, s in varying for n in (0, 2) if (id(s), n) not in seen] == []


def _repeats(call: typed.TypedCall) -> int:
    return len(call.arguments) - len(call.resolved.signature.parameters) + 1


def test_each_kind_of_a_generic_has_an_example(calls: list[typed.TypedCall]) -> None:
    seen = {(id(c.resolved.signature), _of_call(c)) for c in calls if _is_varied(c.resolved.signature)}
    missing = [
        f"{call_text(f.name, s)} of {t}"
        for f, s in signatures()
        for way, t in _ways(s).items()
        if (id(s), way) not in seen
    ]
    assert missing == []


def _ways(signature: Signature) -> dict[str, SqlType]:
    """The Spark SQL texts that a signature can be, and a type for its generics that makes it so."""
    if not _is_varied(signature):
        return {}
    types_by_text: dict[str, SqlType] = {}
    for t in (*PLAIN, *NESTED):
        types, returns = [bound(p.type, t) for p in signature.parameters], signature.returns
        try:
            result = returns(types) if callable(returns) else bound(returns, t)
            types_by_text.setdefault(_way(signature, types, result), t)
        except StatementError:
            continue  # a type that the signature's rule refuses
    return types_by_text


def _is_varied(signature: Signature) -> bool:
    """True if the text depends on the type that replaces a generic."""
    own = [p.type for p in signature.parameters]
    computed = callable(signature.spark) or signature.accumulating is not None
    fixed = signature.variadic is not None or any(isinstance(t, LambdaType) for t in own)
    return computed and not fixed and any(map(is_generic, own))


def _of_call(call: typed.TypedCall) -> str:
    assert call.type is not None
    return _way(call.resolved.signature, [a.type for a in call.arguments], call.type)


def _way(signature: Signature, types: Types, result: SqlType) -> str:
    """The text of the signature for these types, without the names of the types in it."""
    texts = [f"<{i}>" for i in range(len(types))]
    if signature.accumulating is None:
        text: str = call_sql(signature, texts, types, result)
    else:
        how = signature.accumulating([t or STRING for t in types], [1] * len(types), SETTINGS)
        text = f"{how.add} {how.merge} {how.undo}"
    names = {spark_type(i) for t in (*types, result) if t for i in _all(t)}
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, "T")
    return text


def _all(t: SqlType) -> Iterator[SqlType]:
    if isinstance(t, LambdaType):
        return
    yield t
    for inner in t.children():
        yield from _all(inner)
