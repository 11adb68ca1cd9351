"""Trees of frozen dataclasses: traversal and transformation.

Five families of nodes are trees: SQL types, syntax nodes, typed expressions, plan nodes and operator expressions. A
node's children are the nodes of its own family in its fields, alone or in tuples. So of `a + f(b)`, parsed:

    Arithmetic("+", ColumnRef("A"), Call("F", (ColumnRef("B"),)))

    .children()   ColumnRef("A"), Call("F", …)
    .walk()       Arithmetic(…), ColumnRef("A"), Call("F", …), ColumnRef("B")
    .transform(lambda n: Literal(1, INTEGER) if n == ColumnRef("B") else None)
                  Arithmetic("+", ColumnRef("A"), Call("F", (Literal(1, INTEGER),)))
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

N = TypeVar("N", bound="TreeNode[Any]")


class TreeNode(Generic[N]):
    """A node of a tree. The direct subclass is the family: `class SqlType(TreeNode["SqlType"])`."""

    __slots__ = ()
    _family: ClassVar[type[Any]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if TreeNode in cls.__bases__:
            cls._family = cls

    def children(self) -> Iterator[N]:
        """The nodes directly inside this one, in the order of its fields."""
        family = self._family
        for name in _field_names(self):
            value = getattr(self, name)
            # Most fields are a node or hold none: planning is a tenth faster without a generator for each of them.
            if isinstance(value, family):
                yield value
            elif isinstance(value, _CONTAINERS):
                yield from _nodes_in(value, family)

    def walk(self) -> Iterator[N]:
        """This node and all its descendants, each before its children."""
        yield cast(N, self)
        for child in self.children():
            yield from child.walk()

    def transform(self, replacement: Callable[[N], N | None]) -> Self:
        """The tree with nodes replaced, outermost first: `replacement` returns the new node, or None to descend.

        A replacement is not searched again. Parts without a replacement remain the same objects. The result has this
        node's class unless the node itself was replaced.
        """
        new = replacement(cast(N, self))
        if new is not None:
            return cast(Self, new)
        changes = {}
        for name in _field_names(self):
            old = getattr(self, name)
            value = _transformed(old, self._family, replacement)
            if value is not old:
                changes[name] = value
        return replace(self, **changes) if changes else self  # type: ignore[type-var]


class TreePart:
    """A dataclass that is not a node itself, but whose fields contain nodes: a struct's named field."""

    __slots__ = ()


_CONTAINERS = (tuple, TreePart)


def _field_names(node: object) -> Iterable[str]:
    """The names of a dataclass's fields; none for a node without fields."""
    return getattr(node, "__dataclass_fields__", ())


def _nodes_in(value: object, family: type[N]) -> Iterator[N]:
    if isinstance(value, family):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes_in(item, family)
    elif isinstance(value, TreePart):
        for name in _field_names(value):
            yield from _nodes_in(getattr(value, name), family)


def _transformed(value: Any, family: type[N], replacement: Callable[[N], N | None]) -> Any:
    if isinstance(value, family):
        return value.transform(replacement)
    if isinstance(value, tuple):
        items = tuple(_transformed(item, family, replacement) for item in value)
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    if isinstance(value, TreePart):
        changes = {name: _transformed(getattr(value, name), family, replacement) for name in _field_names(value)}
        return replace(value, **changes)  # type: ignore[type-var]
    return value
