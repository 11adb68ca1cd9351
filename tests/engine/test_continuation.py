"""Continuation tokens: their form is ksqlDB's, and where a query goes on after one."""

import base64
import json
from typing import Any

import pytest

from millstream.engine.continuation import ContinuationRefused, ContinuationToken, decoded

BOUNDS = {0: (3, 9), 1: (0, 4)}


def token(body: Any) -> str:
    """The text of a token with this body."""
    return base64.b64encode(json.dumps(body).encode()).decode()


def test_the_form_is_that_of_ksqldb() -> None:
    body = json.loads(base64.b64decode(ContinuationToken({0: 7, 2: 4}, "orders", "id").encoded()))
    assert body == {"endOffsets": {"o": [7, -1, 4]}, "version": 0, "topic": "orders", "topicId": "id"}


def test_a_token_is_read_as_it_was_written() -> None:
    written = ContinuationToken({0: 7, 1: 4}, "orders", "id")
    assert decoded(written.encoded()) == written
    assert decoded(ContinuationToken({}).encoded()) == ContinuationToken({})


def test_a_query_goes_on_at_the_offsets_of_a_token() -> None:
    known = ContinuationToken({0: 7, 1: 4}, "orders", "id")
    assert known.starts("orders", "id", BOUNDS) == {0: 7, 1: 4}
    assert decoded(token({"endOffsets": {"o": [9, -1]}, "version": 0})).starts("orders", "id", BOUNDS) == {0: 9, 1: 4}


def test_partitions_that_were_added_are_read_from_their_beginning() -> None:
    assert ContinuationToken({1: 2}, "orders", "id").starts("orders", "id", BOUNDS) == {0: 3, 1: 2}


@pytest.mark.parametrize(
    ("positions", "topic", "id", "why"),
    [
        ({0: 2, 1: 0}, "orders", "id", "partition 0 of topic orders no longer has offset 2: its first record is at 3"),
        ({0: 3, 1: 5}, "orders", "id", "partition 1 of topic orders ends at offset 4, before offset 5"),
        ({0: 3, 2: 0}, "orders", "id", "topic orders has no partition 2"),
        ({0: 3}, "payments", "id", "it is a token of topic payments, and the query reads topic orders"),
        ({0: 3}, "orders", "other", "topic orders was deleted and created again after it"),
    ],
)
def test_a_token_whose_records_are_gone_is_refused(positions: dict[int, int], topic: str, id: str, why: str) -> None:
    with pytest.raises(ContinuationRefused, match=why):
        ContinuationToken(positions, topic, id).starts("orders", "id", BOUNDS)


@pytest.mark.parametrize(
    "text",
    [
        *("", "no base64!", "bm8ganNvbg==", token([]), token({"endOffsets": {}}), token({"endOffsets": {"o": [1.5]}})),
        *(token({"endOffsets": {"o": {"0": 1}}}), token({"endOffsets": {"o": [True]}}), token(None)),
    ],
)
def test_other_texts_are_no_tokens(text: str) -> None:
    with pytest.raises(ContinuationRefused, match="it is not a continuation token"):
        decoded(text)
