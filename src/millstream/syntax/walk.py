"""Every expression in a piece of the tree, outermost first."""

from collections.abc import Iterator
from dataclasses import fields

from millstream.syntax.tree import Expression, Node


def walk(node: object) -> Iterator[Expression]:
    """All expressions within `node` (a node, or a tuple of them), itself included where it is one."""
    if isinstance(node, tuple):
        for part in node:
            yield from walk(part)
    elif isinstance(node, Node):
        if isinstance(node, Expression):
            yield node
        for field in fields(node):
            yield from walk(getattr(node, field.name))
