"""Batches of rows that several clients get: the same text as that of the rows, made once."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import httpx
import pytest

from millstream.engine.api import RequestFailed, RowBatch, Rows, Tombstone
from millstream.server import framing
from millstream.server.framing import ArrayFraming, BatchFraming, Framing, LineFraming, ObjectFraming
from millstream.server.run import Server
from support.engine import FakeEngine, FakeRows
from support.patience import PATIENCE

ROWS = [[1, "a"], Tombstone([2, None]), [3, "ü\u2028"], [4, float("nan")]]
FORMS: tuple[Callable[[Rows], Framing], ...] = (ObjectFraming, ArrayFraming, LineFraming)


@pytest.mark.parametrize("form", FORMS)
def test_batches_have_the_text_of_their_rows(form: Callable[[Rows], Framing]) -> None:
    rows = cast(Rows, FakeRows("q", ROWS, push=True, ending="Limit Reached"))
    plain, batched = form(rows), BatchFraming(form(rows))
    assert batched.items([RowBatch(ROWS[:3]), ROWS[3:]]) == plain.items(ROWS)
    assert (batched.start(), batched.end()) == (plain.start(), plain.end())
    assert batched.error(RequestFailed(50000, "it failed")) == plain.error(RequestFailed(50000, "it failed"))


def test_the_text_of_a_batch_is_computed_once_for_each_form(monkeypatch: pytest.MonkeyPatch) -> None:
    written, dumps = list[object](), framing.dumps
    monkeypatch.setattr(framing, "dumps", lambda value: written.append(value) or dumps(value))  # type: ignore[func-returns-value]
    batch, rows = RowBatch(ROWS), cast(Rows, FakeRows("q", ROWS))
    lines = {BatchFraming(LineFraming(rows)).items([batch]) for _ in range(10)}
    objects = {BatchFraming(ObjectFraming(rows)).items([batch]) for _ in range(10)}
    assert (len(lines), len(objects), len(written)) == (1, 1, 2 * len(ROWS))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (ObjectFraming, ',\n{"continuationToken":{"continuationToken":"7"}}'),
        (ArrayFraming, ',{"continuationToken":"7"}'),
        (LineFraming, '{"continuationToken":"7"}\n'),
    ],
)
def test_a_token_follows_the_rows_of_its_batch(form: Callable[[Rows], Framing], text: str) -> None:
    rows = cast(Rows, FakeRows("q", ROWS))
    batch, empty = RowBatch(ROWS, {0: 7}), RowBatch((), {0: 7})
    with_tokens, plain = BatchFraming(form(rows), lambda positions: str(positions[0])), BatchFraming(form(rows))
    assert with_tokens.items([batch, empty]) == form(rows).items(ROWS) + text + text
    assert plain.items([batch, empty]) == form(rows).items(ROWS)
    assert with_tokens.items([ROWS[:1]]) == form(rows).items(ROWS[:1])


class BatchedFakeRows(FakeRows):
    """Rows that come in batches; the second one is cut, as a LIMIT does."""

    token: Callable[[Mapping[int, int]], str] | None = None

    taken = 0

    @property
    def ended(self) -> bool:
        return self.taken == 2

    def arrived(self) -> list[Sequence[list[Any]]]:
        self.taken += 1
        if not self.ended:
            threading.Timer(0.05, self.on_arrival).start()
        return [RowBatch(ROWS)] if self.taken == 1 else [ROWS[:1]]

    def listen(self, on_arrival: Callable[[], object]) -> None:
        self.on_arrival = on_arrival
        on_arrival()


class BatchedEngine(FakeEngine):
    """An engine whose push queries answer in batches."""

    def _rows(self, text: str) -> FakeRows:
        return BatchedFakeRows("q", [*ROWS, ROWS[0]], push=False, ending="Limit Reached")


def test_an_answer_in_batches_is_that_in_rows() -> None:
    body = {"sql": "SELECT * FROM orders EMIT CHANGES;", "ksql": "SELECT * FROM orders EMIT CHANGES;"}
    with Server(BatchedEngine(), port=0) as server:
        lines = httpx.post(f"{server.url}/query-stream", json=body, timeout=PATIENCE).text.split("\n")
        array = httpx.post(f"{server.url}/query", json=body, timeout=PATIENCE).json()
    shown = [[1, "a"], [2, None], [3, "ü\u2028"], [4, "NaN"], [1, "a"]]
    assert [json.loads(line) for line in lines[1:] if line] == shown
    assert [element["row"]["columns"] for element in array if "row" in element] == shown
    assert array[2]["row"]["tombstone"] is True
    assert array[-1] == {"finalMessage": "Limit Reached"}


@pytest.mark.parametrize("ending", ["Limit Reached", ""])
@pytest.mark.parametrize("push", [True, False])
def test_query_is_one_array_and_a_push_querys_elements_end_their_lines(push: bool, ending: str) -> None:
    form = ObjectFraming(cast(Rows, FakeRows("q", ROWS, push, ending)))
    parts = [form.start(), form.items(ROWS[:1]), form.token("t"), form.items(ROWS[1:])]
    assert {part.endswith(",\n") for part in parts} == {push and ending != ""}
    refusal = RequestFailed(50000, "it broke")
    for last, key in ((form.end(), "finalMessage"), (form.error(refusal), "errorMessage")):
        array = json.loads("".join(parts) + last)
        keys = ["header", "row", "continuationToken", "row", "row", "row", key]
        assert [next(iter(element)) for element in array] == (keys if ending or key == "errorMessage" else keys[:-1])
