"""What the joins of a chain have in common: lanes, types, and the rows that pass (see joins.py)."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from millstream.functions.sparktype import spark_type
from millstream.model.schema import Column
from millstream.plan.nodes import Join, PlanNode, leaves, windowed
from millstream.spark.aggregates import HEADERS
from millstream.spark.codec import EXPRESSION, report
from millstream.spark.fold import Fold
from millstream.spark.lower import guarded

PLACE = ("headers", "partition", "offset")


def bounds_of(node: PlanNode) -> tuple[str, ...]:
    """The columns of a node's rows that tell their window."""
    return ("wstart", "wend") if windowed(node) else ()


def struct_type(prefix: str, columns: Sequence[Column]) -> str:
    """Spark's type of a key or value with these columns; a struct needs a field."""
    fields = [f"{prefix}{i}: {spark_type(c.type)}" for i, c in enumerate(columns)] or [f"{prefix}0: int"]
    return f"struct<{', '.join(fields)}>"


def right_type(join: Join) -> str:
    key = Column(join.name, join.right_key.type) if join.right_key.type else join.right.schema.key[0]
    return f"struct<j: {struct_type('K', [key])}, v: {struct_type('V', join.right.schema.value)}, c: bigint>"


def with_key(rows: DataFrame, missing: str, side: PlanNode, query: str) -> DataFrame:
    """The rows of an input of a join but those whose key is `missing`, of which the processing log is told."""
    why = "a row whose join key is null meets nothing: it is left out"
    error = F.when(F.expr(missing), F.lit(why))
    return rows.where(report(EXPRESSION, error, f"{query}.join", "key", leaves(side)[0].origin.topic, None))


class JoinStep:
    """One join of a chain: `place` is its lane, `later` are the joins whose lanes pass."""

    def __init__(self, join: Join, place: int, later: Sequence[Join], query: str, live: bool) -> None:
        self.join, self.place, self.later, self.query, self.live = join, place, later, query, live
        self.bounds = bounds_of(join)
        self.passing = [f"r{place + i}" for i, _ in enumerate(later, 1)]
        compared = join.right_key.type or join.right.schema.key[0].type
        self.key = struct_type("K", [Column(join.name, compared)])
        self.left = struct_type("V", join.left.schema.value)
        self.right = struct_type("V", join.right.schema.value)
        self.own = struct_type("K", join.schema.key)
        self.out = self._out_type()
        self.label = f"{query}.join"

    def _out_type(self) -> str:
        value = struct_type("V", self.join.schema.value)
        fields = ["lane: int", f"key: {self.own}", f"value: {value}", "rowtime: bigint", f"headers: {HEADERS}"]
        fields += ["partition: int", "offset: bigint", *(f"{b}: bigint" for b in self.bounds)]
        fields += [f"{name}: {right_type(join)}" for name, join in zip(self.passing, self.later, strict=True)]
        return f"struct<{', '.join(fields)}>"

    def run(self, frame: DataFrame) -> DataFrame:
        """The rows after this join."""
        raise NotImplementedError

    def given(self, frame: DataFrame) -> DataFrame:
        """What the fold reads: `j` the key that is compared, null in a lane that passes; `side` 0 or 1."""
        lane = f"r{self.place}"
        text = guarded(self.join.left_key, f"{self.query}.join|{self.join.text}")
        j = f"case lane when 0 then named_struct('K0', {text}) when {self.place} then {lane}.j end as j"
        side = f"case lane when 0 then 0 when {self.place} then 1 end as side"
        own = "clock" if self.place == 1 else "rowtime"
        clock = f"case lane when 0 then {own} when {self.place} then {lane}.c end as clock"
        rest = ("rowtime", *PLACE, *self.bounds, *self.passing)
        made = frame.selectExpr("lane", j, side, "value", f"{lane}.v as rv", "key as own_key", *rest, clock)
        made = with_key(made, "side is not null and j.K0 is null", self.join.left, self.query)
        return made.selectExpr("*", f"if(j is null, {self.spread(self.passing)}, 0L) as h") if self.passing else made

    # ------------------------------------------------------------ texts

    def by(self) -> tuple[str, ...]:
        """The group; rows that pass are spread over the tasks by what they will be joined on."""
        sized = windowed(self.join)
        # Windows of fixed size are told by their start, whatever their sizes.
        bounds = self.bounds if sized is None or sized.size_ms is None else self.bounds[:1]
        return ("j", *(["h"] if self.passing else []), *bounds)

    @staticmethod
    def spread(passing: Sequence[str]) -> str:
        """What spreads rows of lanes that pass."""
        return f"xxhash64({', '.join(f'{p}.j' for p in passing)})" if passing else "0L"

    def value(self, left: str, right: str) -> str:
        """The joined value of two structs, either of them maybe null."""
        texts = [f"{left}.V{i}" for i in range(len(self.join.left.schema.value))]
        texts += [f"{right}.V{i}" for i in range(len(self.join.right.schema.value))]
        fields = texts or ["cast(null as int)"]
        named = ", ".join(f"'V{i}', {text}" for i, text in enumerate(fields))
        return f"named_struct({named})"

    def row(self, key: str, value: str, rowtime: str, window: str = "row") -> str:
        """An output in lane 0; `window` has the bounds."""
        nothing = [f"'{p}', cast(null as {right_type(j)})" for p, j in zip(self.passing, self.later, strict=True)]
        return self.output("0", key, value, rowtime, nothing, window)

    def output(self, lane: str, key: str, value: str, rowtime: str, passing: Sequence[str], window: str = "row") -> str:
        fields = [f"'lane', {lane}", f"'key', {key}", f"'value', {value}", f"'rowtime', {rowtime}"]
        fields += [f"'{c}', row.{c}" for c in PLACE] + [f"'{b}', {window}.{b}" for b in self.bounds]
        return f"named_struct({', '.join([*fields, *passing])})"

    def gone(self) -> str:
        return f"cast(null as {struct_type('V', self.join.schema.value)})"

    def passed(self) -> str:
        """The output of a row of a lane that passes."""
        passing = [f"'{p}', row.{p}" for p in self.passing]
        return self.output("row.lane", f"cast(null as {self.own})", self.gone(), "row.rowtime", passing)

    def made(self, update: str, emit: str, state: str) -> Fold:
        """The fold of a join; rows of other lanes pass by."""
        if self.passing:
            update = f"if(row.side is null, null, {update})"
            emit = f"if(row.side is null, array({self.passed()}), {emit})"
        return Fold(self.by(), state, update, emit, self.out, self.label, whole=any(self.join.repartitions))
