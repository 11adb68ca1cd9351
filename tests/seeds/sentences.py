"""Sentences of the documents as data: statements played without a broker, and the records or the refusal they lead to.

A file has `texts`, which stand for themselves in braces wherever a text may be, and `[[sentence]]`s. A sentence has

- `name` and `statements`;
- `in` and `out`: records of topics before and after, as [key, value], "null" for none;
- `wraps`: whether keys and values of sources are wrapped, "null" where the format has no choice;
- or, in place of `out` and `wraps`, a refusal: its `fact` and `hint`, or what they begin with or have (`fact_begins`,
  `hint_has` …);
- `each`: a list of what differs from play to play, texts of its own and any of the above;
- `product`: for each of several texts a list of choices; there is a play for each combination.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from millstream.model.errors import StatementError
from support.play import Pair, pairs, play

COMPARED = {"": str.__eq__, "_begins": str.startswith, "_has": str.__contains__}
REFUSALS = {f"{part}{way}": (part, way) for part in ("fact", "hint") for way in COMPARED}


@dataclass(frozen=True, slots=True)
class SentencePlay:
    """One play of a sentence; its texts are filled in. `refusal` is empty where the statements are accepted."""

    statements: str
    inputs: Mapping[str, Sequence[Pair]]
    outputs: Mapping[str, Sequence[Pair]]
    wraps: Mapping[str, Sequence[str]]
    refusal: Mapping[str, str]

    def check(self, spark: SparkSession) -> None:
        """Play it. AssertionError where records, or the refusal, are not those of the sentence."""
        if not self.refusal:
            result = play(spark, self.statements, self.inputs)
            assert {topic: pairs(result, topic) for topic in self.outputs} == self.outputs
            sources = {name: result.catalog.sources[name] for name in self.wraps}
            assert {n: [json.dumps(side.wrap) for side in (s.key, s.value)] for n, s in sources.items()} == self.wraps
            return
        with pytest.raises(StatementError) as caught:
            play(spark, self.statements, self.inputs)
        for name, expected in self.refusal.items():
            part, way = REFUSALS[name]
            text = str(getattr(caught.value, part))
            assert COMPARED[way](text, expected), f"{part} is {text!r}"


def plays(path: Path) -> list[Any]:
    """The plays of a file as parameters of a test, named after their sentences."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    texts = document["texts"]
    return [
        pytest.param(_play({**texts, **sentence, **choice}), id=f"{sentence['name']}-{number}")
        for sentence in document["sentence"]
        for number, choice in enumerate(_choices(sentence), 1)
    ]


def _choices(sentence: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    lists = sentence.get("product", {})
    for combination in product(*lists.values()):
        for own in sentence.get("each", [{}]):
            yield {**dict(zip(lists, combination, strict=True)), **own}


def _play(values: Mapping[str, Any]) -> SentencePlay:
    texts = {name: text for name, text in values.items() if isinstance(text, str)}

    def filled(text: str) -> str:
        """The text with those that it names, which may name others."""
        while (new := _filled_once(text, texts)) != text:
            text = new
        return text

    def records(side: str) -> dict[str, list[Pair]]:
        return {topic: [_pair(r, filled) for r in rows] for topic, rows in values.get(side, {}).items()}

    refusal = {name: filled(values[name]) for name in REFUSALS if name in values}
    assert refusal or values.get("out") or values.get("wraps"), f"{values['name']} expects nothing"
    return SentencePlay(filled(values["statements"]), records("in"), records("out"), values.get("wraps", {}), refusal)


def _filled_once(text: str, texts: Mapping[str, str]) -> str:
    for name, value in texts.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _pair(record: Sequence[str], filled: Any) -> Pair:
    key, value = (None if text == "null" else filled(text).encode() for text in record)
    return key, value
