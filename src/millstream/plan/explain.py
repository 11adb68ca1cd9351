"""A plan as text: one line a node, the sink first, its source indented below (EXPLAIN)."""

from functools import singledispatch

from millstream.catalog.catalog import Serde
from millstream.model.names import identifier
from millstream.plan.nodes import Answer, Filter, Flatten, Node, Read, Rekey, Select, Write


def explain(node: Node) -> str:
    """The plan from `node` down, a line a node."""
    lines, depth = [], 0
    at: Node | None = node
    while at is not None:
        lines.append("  " * depth + sentence(at))
        at, depth = getattr(at, "source", None), depth + 1
    return "\n".join(lines)


@singledispatch
def sentence(node: Node) -> str:
    """What one node does, in a line."""
    raise NotImplementedError(type(node).__name__)


@sentence.register
def _(node: Read) -> str:
    origin = node.origin
    return f"Read {origin.kind.value} {identifier(origin.name)} from topic {origin.topic} ({_formats(origin.key, origin.value)})"


@sentence.register
def _(node: Filter) -> str:
    return (
        f"Filter {node.condition.type}"
        if node.kind.name == "STREAM"
        else "Filter, a row that fails becomes a tombstone"
    )


@sentence.register
def _(node: Flatten) -> str:
    return f"Flatten {len(node.functions)} table function(s)"


@sentence.register
def _(node: Rekey) -> str:
    keys = ", ".join(identifier(k.name) for k in node.keys)
    return f"Partition by {keys}" if keys else "Partition by nothing"


@sentence.register
def _(node: Select) -> str:
    return f"Select {node.schema}"


@sentence.register
def _(node: Answer) -> str:
    return f"Answer {node.schema}"


@sentence.register
def _(node: Write) -> str:
    sink = node.sink
    return f"Write {sink.kind.value} {identifier(sink.name)} to topic {sink.topic} ({_formats(sink.key, sink.value)})"


def _formats(key: Serde, value: Serde) -> str:
    return f"key {key.format}, value {value.format}"
