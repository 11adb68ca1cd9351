"""Look-ups that are planned once: a SELECT that differs from an earlier one only in its keys has the same plan.

    SELECT name FROM t WHERE id = 7;          the statement
    SELECT name FROM t WHERE id = ?;   (7)    its shape and its keys

A shape is learned from the first statement of that shape: it is planned again with placeholders as keys, values that
occur nowhere else. If the plan has them only in its accesses, it is a template, in which other keys replace them. So
there are no rules of planning here; a statement without a template is planned.
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from millstream.analysis.typed_expressions import Constant, TypedExpression
from millstream.engine.api import Request
from millstream.engine.context import EngineContext, StatementContext
from millstream.engine.pull_queries import TableQuery, table_query
from millstream.engine.state import EngineState
from millstream.engine.transient import planned_pull
from millstream.model.errors import StatementError
from millstream.model.types import Decimal
from millstream.plan.pull_queries import Access, FullScan, KeyLookup, PullPlan
from millstream.syntax import tree

# The most shapes that are known at a time, and the most characters of a statement that has one.
SHAPES, LONGEST = 500, 2000
# The end of a statement; and what occurs, outside of string literals, in comments, quoted names and variables only.
_END, _UNUSUAL = re.compile(r";\s*\Z"), re.compile(r"--|/\*|[^\t\n\r !%()*+,\-./0-9<=>A-Z\[\]_a-z|]")
_STRING = re.compile(r"('(?:[^']|'')*')")
_INTEGER = re.compile(r"(?<![0-9A-Za-z_.])[0-9]{1,18}(?![0-9A-Za-z_.@])")
_LIMIT = re.compile(r"\bLIMIT\s+\Z", re.IGNORECASE)
_SELECT = re.compile(r"\s*SELECT\b", re.IGNORECASE)
Key = int | str


@dataclass(frozen=True, slots=True)
class LookupShape:
    """A statement without its keys: `text` has a letter for the type of each, after a character that no SQL has."""

    text: str
    keys: tuple[Key, ...]

    def with_keys(self, keys: Sequence[Key]) -> str:
        """The statement with other keys of the same types."""
        first, *rest = self.text.split(_MARK)
        return first + "".join(_literal(key) + piece[1:] for key, piece in zip(keys, rest, strict=True))


_MARK = "\0"
# By the type of a key, placeholder values for the keys 0, 1, …, which hardly occur in statements.
_PLACEHOLDERS: Mapping[str, Callable[[int], Key]] = {
    "s": lambda index: f"~{index}~ 0f6b1a",
    "i": lambda index: 1_987_654_321 + index,
    "l": lambda index: 8_123_456_789_012_345 + index,
}


def is_select(text: str) -> bool:
    """True if the first word of a text is SELECT; false also where a comment or a variable is before it."""
    return _SELECT.match(text) is not None


def shape_of(text: str) -> LookupShape | None:
    """The shape of a SELECT; None for another statement, for several, and for one that is spelled in an unusual way."""
    end = _END.search(text)
    if end is None or len(text) > LONGEST or not is_select(text):
        return None
    keys: list[Key] = []
    pieces: list[str] = []
    for i, piece in enumerate(_STRING.split(text[: end.start()].strip())):
        if i % 2:
            keys.append(piece[1:-1].replace("''", "'"))
            pieces.append(f"{_MARK}s")
        elif _UNUSUAL.search(piece):
            return None
        else:
            pieces.append(_INTEGER.sub(lambda number: _number(number, keys), piece))
    return LookupShape("".join(pieces), tuple(keys))


def _number(number: re.Match[str], keys: list[Key]) -> str:
    """The mark of a whole number's type, which is added to the keys; the number itself if it cannot be a key."""
    value = int(number[0])
    # -2147483648 has another type than 2147483648.
    if value == 2**31 or _LIMIT.search(number.string, 0, number.start()):
        return number[0]
    keys.append(value)
    return f"{_MARK}{'i' if value < 2**31 else 'l'}"


def _literal(key: Key) -> str:
    return str(key) if isinstance(key, int) else "'" + key.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class LookupTemplate:
    """The plan of all look-ups of one shape; `key_indexes` has the index of the key for each of its placeholders."""

    statement: tree.Statement
    query: TableQuery
    accesses: tuple[Access, ...]
    key_indexes: Mapping[object, int]

    def with_keys(self, keys: Sequence[Key]) -> tuple[Access, ...]:
        """The accesses of the look-up with these keys."""

        def of(constant: TypedExpression) -> TypedExpression | None:
            return _constant(constant, self.key_indexes, keys) if isinstance(constant, Constant) else None

        return tuple(_transformed(access, of) for access in self.accesses)


def _constant(constant: Constant, key_indexes: Mapping[object, int], keys: Sequence[Key]) -> Constant:
    index = key_indexes.get(constant.value)
    if index is not None:
        return Constant(constant.type, keys[index])
    value = constant.value
    assert isinstance(value, int)
    return Constant(constant.type, -int(keys[key_indexes[-value]]))


def _transformed(access: Access, of: Callable[[TypedExpression], TypedExpression | None]) -> Access:
    """A copy of `access` in which `of` replaces the constants: it returns the new constant, None to keep one."""
    windows = tuple(replace(bound, constant=bound.constant.transform(of)) for bound in access.windows)
    if isinstance(access, KeyLookup):
        return KeyLookup(tuple(tuple(constant.transform(of) for constant in values) for values in access.keys), windows)
    return replace(access, windows=windows)


def _constants(accesses: Sequence[Access]) -> Iterator[TypedExpression]:
    """The keys and window bounds of accesses."""
    for access in accesses:
        if isinstance(access, KeyLookup):
            yield from (constant for values in access.keys for constant in values)
        yield from (bound.constant for bound in access.windows)


@dataclass(frozen=True, slots=True)
class PlannedLookup:
    """A look-up that is already planned: its statement (with other keys), its query and its accesses."""

    statement: tree.Statement
    query: TableQuery
    accesses: tuple[Access, ...]

    @property
    def table(self) -> str:
        """The name of the table that it reads."""
        return self.query.table.source.name


class PlannedLookups:
    """The templates of a server, by the shape of a statement and the session's properties. It is thread-safe.

    They are valid as long as the state of the command log is the same, and are learned again after that.
    """

    def __init__(self, engine: EngineContext) -> None:
        self._engine = engine
        self._templates: dict[tuple[str, str], LookupTemplate | None] = {}
        self._state: EngineState | None = None
        self._lock = threading.Lock()

    def find(self, request: Request) -> PlannedLookup | None:
        """A request's only statement, if it is a look-up of a known shape; None otherwise."""
        if request.variables or self._engine.state is not self._state or (shape := shape_of(request.text)) is None:
            return None
        template = self._templates.get((shape.text, _session(request)))
        if template is None:
            return None
        return PlannedLookup(template.statement, template.query, template.with_keys(shape.keys))

    def learn(self, request: Request, parse: Callable[[str], StatementContext]) -> None:
        """Plan the look-ups of a request's shape, if it is one and its shape is new; `parse` parses a statement."""
        shape, state = shape_of(request.text), self._engine.state
        if shape is None or request.variables:
            return
        session = _session(request)
        with self._lock:
            if state is not self._state:
                self._state, self._templates = state, {}
            if (shape.text, session) in self._templates:
                return
        template = self._template(shape, request, parse)
        with self._lock:
            if state is self._state:
                while len(self._templates) >= SHAPES:
                    del self._templates[next(iter(self._templates))]
                self._templates[shape.text, session] = template

    def _template(
        self, shape: LookupShape, request: Request, parse: Callable[[str], StatementContext]
    ) -> LookupTemplate | None:
        """The template of a shape; None if a look-up of that shape has to be planned each time, or is not valid."""
        placeholders = [_PLACEHOLDERS[piece[0]](i) for i, piece in enumerate(shape.text.split(_MARK)[1:])]
        try:
            context = parse(shape.with_keys(placeholders) + ";")
            query, plan = planned_pull(context, self._engine)
            _, own_plan = planned_pull(parse(request.text), self._engine)
        except StatementError:
            return None
        if plan is None or own_plan is None or not _is_template(plan, placeholders):
            return None
        key_indexes: dict[object, int] = {key: i for i, key in enumerate(placeholders)}
        template = LookupTemplate(context.statement, table_query(query, plan, self._engine), plan.accesses, key_indexes)
        # The statement itself must get the same plan from its template as from the planner.
        same = own_plan == replace(plan, accesses=template.with_keys(shape.keys))
        return template if same else None


def _session(request: Request) -> str:
    return repr(sorted(request.properties.items())) if request.properties else ""


def _is_template(plan: PullPlan, placeholders: Sequence[Key]) -> bool:
    """True if a plan is a look-up that contains all of the placeholders, each as a constant of its accesses only.

    Whether a number is a DECIMAL key depends on its digits: each is planned.
    """
    if any(isinstance(column.type, Decimal) for column in plan.source.schema.key):
        return False
    if any(isinstance(access, FullScan) or not isinstance(access, KeyLookup) for access in plan.accesses):
        return False
    constants = [
        part for constant in _constants(plan.accesses) for part in constant.walk() if isinstance(part, Constant)
    ]
    values = {abs(c.value) if isinstance(c.value, int) else c.value for c in constants}
    return values == set(placeholders) and not any(str(key) in repr(plan.plan) for key in placeholders)
