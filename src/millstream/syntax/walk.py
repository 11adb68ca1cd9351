"""Every expression in a piece of the tree, outermost first, and a piece with other expressions in it."""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import TypeVar

from millstream.syntax.tree import Expression, SyntaxNode

T = TypeVar("T")


def walk(node: object) -> Iterator[Expression]:
    """All expressions within `node` (a node, or a tuple of them), itself included where it is one."""
    if isinstance(node, tuple):
        for part in node:
            yield from walk(part)
    elif isinstance(node, SyntaxNode):
        if isinstance(node, Expression):
            yield node
        for field in fields(node):
            yield from walk(getattr(node, field.name))


def swapped(node: T, swap: Callable[[Expression], Expression | None]) -> T:
    """`node` with expressions replaced by what `swap` gives for them, outermost first; None keeps one and goes in."""
    if isinstance(node, tuple):
        return tuple(swapped(part, swap) for part in node)  # type: ignore[return-value]
    if not isinstance(node, SyntaxNode):
        return node
    found = swap(node) if isinstance(node, Expression) else None
    if found is not None:
        return found  # type: ignore[return-value]
    made = {f.name: swapped(getattr(node, f.name), swap) for f in fields(node)}
    changed = {name: value for name, value in made.items() if value is not getattr(node, name) and name != "span"}
    return replace(node, **changed) if changed else node
