"""Frozen values through JSON and back."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millstream.catalog.facts import Facts, TopicFacts
from millstream.engine.plain import from_plain, to_plain


@dataclass(frozen=True, slots=True)
class Leaf:
    text: str
    number: int | None = None
    more: tuple["Leaf", ...] = ()


@dataclass(frozen=True, slots=True)
class Tree:
    by_name: Mapping[str, Leaf] = field(default_factory=dict)
    by_number: Mapping[int, Leaf] = field(default_factory=dict)
    maybe: Leaf | None = None


leaves = st.recursive(
    st.builds(Leaf, st.text(), st.none() | st.integers()),
    lambda inner: st.builds(Leaf, st.text(), st.none(), st.lists(inner, max_size=3).map(tuple)),
    max_leaves=5,
)
trees = st.builds(Tree, st.dictionaries(st.text(), leaves), st.dictionaries(st.integers(), leaves), st.none() | leaves)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trees)
def test_a_value_is_read_back_from_its_plain_form(tree: Tree) -> None:
    assert from_plain(Tree, json.loads(json.dumps(to_plain(tree)))) == tree


def test_a_field_that_an_older_version_did_not_write_has_its_default() -> None:
    assert from_plain(Facts, {"topics": {"t": {"partitions": 2}}}) == Facts({"t": TopicFacts(2)})
