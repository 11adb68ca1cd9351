"""Foreign-key joins of tables: three folds.

The first, by the left table's key, knows where its row was subscribed and moves the subscription; the second, by the
foreign key, has the right table's row and the subscriptions, and tells every change; the third, by the left's key
again, leaves out what a task has told after another already knew better: answers to a row that was replaced since.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from millstream.spark.aggregates import HEADERS, sorted_bytes
from millstream.spark.fold import Fold, fold
from millstream.spark.join_step import PLACE, JoinStep, right_type
from millstream.spark.lower import guarded

# What becomes of a subscription: it goes, silently or with a tombstone; it stands, and tells a row in any case, or
# only where the right has one; a row without foreign key, or the end of one, is told without it.
_GONE, _END, _STAND, _FIND, _ALONE = range(5)


class ForeignKeyJoin(JoinStep):
    """A table that looks rows up in another by a foreign key."""

    def run(self, frame: DataFrame) -> DataFrame:
        """The rows after this join."""
        sent = fold(self._left_rows(frame), self._subscribing(), self.live)
        told = fold(self._all_rows(sent), self._telling(), self.live)
        return fold(told.selectExpr("*", *self._own(self.passing)), self._latest(), self.live)

    # ------------------------------------------------------------ texts

    def _passed(self) -> list[str]:
        """The lanes that pass the first fold: the right table's too."""
        return [f"r{self.place}", *self.passing]

    def _lanes_type(self, names: list[str]) -> str:
        joins = dict(zip([f"r{self.place}", *self.passing], (self.join, *self.later), strict=True))
        return "".join(f", {name}: {right_type(joins[name])}" for name in names)

    def _rest(self, rowtime: str = "row.rowtime") -> str:
        return ", ".join([f"'rowtime', {rowtime}", *(f"'{c}', row.{c}" for c in PLACE)])

    _REST_TYPE = f"rowtime: bigint, headers: {HEADERS}, partition: int, offset: bigint"

    # ------------------------------------------------------------ where a row is subscribed

    def _left_rows(self, frame: DataFrame) -> DataFrame:
        key = guarded(self.join.left_key, f"{self.query}.join|{self.join.text}")
        fk = f"if(input = 0 and value is not null, named_struct('K0', {key}), null) as fk"
        return frame.selectExpr(
            "input", "key", "value", fk, "rowtime", *PLACE, *self._passed(), *self._own(self._passed())
        )

    def _own(self, passing: Sequence[str]) -> tuple[str, str]:
        """The left row's group: its key, and what spreads the rows of lanes that pass."""
        return "if(input = 0, key, null) as k", f"if(input = 0, 0L, {self.spread(passing)}) as h"

    def _message(self, what: int, fk: str, value: str = "row.value") -> str:
        return self._sent("0", str(what), fk, "row.key", value, [f"cast(null as {t})" for t in self._passed_types()])

    def _passed_types(self) -> list[str]:
        return [right_type(j) for j in (self.join, *self.later)]

    def _sent(self, lane: str, what: str, fk: str, key: str, value: str, passed: list[str]) -> str:
        fields = [f"'input', {lane}", f"'what', {what}", f"'fk', {fk}", f"'key', {key}", f"'value', {value}"]
        fields += [f"'{name}', {text}" for name, text in zip(self._passed(), passed, strict=True)]
        return f"named_struct({', '.join(fields)}, {self._rest()})"

    def _subscribing(self) -> Fold:
        passed = [f"row.{p}" for p in self._passed()]
        nothing = f"cast(null as {self.key})"
        passing = self._sent("row.input", "-1", nothing, "row.key", "row.value", passed)
        return Fold(
            by=("k", "h"),
            state=f"struct<fk: {self.key}>",
            update="if(row.input <> 0 or row.value is null, null, named_struct('fk', row.fk))",
            emit=f"if(row.input <> 0, array({passing}), {self._moves()})",
            out=f"struct<input: int, what: int, fk: {self.key}, key: {self.own}, value: {self.left}"
            f"{self._lanes_type(self._passed())}, {self._REST_TYPE}>",
            label=f"{self.query}.join",
        )

    def _moves(self) -> str:
        """What a row of the left table does to subscriptions."""
        outer = self.join.outer.left
        stand, find = f"array({self._message(_STAND, 'row.fk')})", f"array({self._message(_FIND, 'row.fk')})"
        end = f"array({self._message(_END, 'state.fk')})"
        alone = f"array({self._message(_ALONE, 'row.fk')})" if outer else "array()"
        gone = f"array({self._message(_GONE, 'state.fk')})"
        subscribed, wants = "state.fk.K0 is not null", "row.fk.K0 is not null"
        return (
            f"case when row.value is null and state is null then array() "
            f"when row.value is null then if({subscribed}, {end}, {alone}) "
            f"when {subscribed} and {wants} then if(state.fk <=> row.fk, {stand}, concat({gone}, {stand})) "
            f"when {wants} then {stand if outer else find} "
            f"when {subscribed} then {f'concat({gone}, {alone})' if outer else end} "
            f"else {alone} end"
        )

    # ------------------------------------------------------------ what is told

    def _all_rows(self, sent: DataFrame) -> DataFrame:
        lane = f"r{self.place}"
        side = f"case when input = 0 then 0 when input = {self.place} then 1 end as side"
        order = ", ".join(sorted_bytes(c.type, f"key.K{i}") for i, c in enumerate(self.join.left.schema.key))
        columns = ["input", "what", f"if(input = {self.place}, {lane}.j, fk) as j", "key", "value", f"{lane}.v as rv"]
        made = sent.selectExpr(*columns, side, f"concat({order}) as sorted", "rowtime", *PLACE, *self.passing)
        spread = f"if(input = 0, xxhash64(key), {self.spread(self.passing)})"
        return made.selectExpr("*", f"if(j is null, {spread}, 0L) as h")

    def _telling(self) -> Fold:
        entry = f"struct<o: binary, k: {self.own}, v: {self.left}, t: bigint, n: bigint>"
        subscribed = f"coalesce(state.s, cast(array() as array<{entry}>))"
        new = "named_struct('o', row.sorted, 'k', row.key, 'v', row.value, 't', row.rowtime, 'n', row.offset)"
        before, after = (f"filter({subscribed}, x9 -> x9.o {op} row.sorted)" for op in "<>")
        stands = f"row.what in ({_STAND}, {_FIND})"
        left = f"if({stands}, concat({before}, array({new}), {after}), concat({before}, {after}))"
        both = f"named_struct('r', state.r, 'rt', state.rt, 's', {left})"
        right = f"named_struct('r', row.rv, 'rt', row.rowtime, 's', {subscribed})"
        made = f"(case row.side when 0 then {both} when 1 then {right} end)"
        nothing = f"size({made}.s) = 0 and {made}.r is null"
        return Fold(
            by=("j", "h"),
            state=f"struct<r: {self.right}, rt: bigint, s: array<{entry}>>",
            update=f"if(row.side is null or row.j is null or ({nothing}), null, {made})",
            emit=f"case row.side when 0 then {self._of_left()} when 1 then {self._of_right()} "
            f"else array({self._pass()}) end",
            out=self._told_type(),
            label=f"{self.query}.join",
        )

    def _told_type(self) -> str:
        return self.out[:-1] + ", n: bigint>"

    def _told(self, key: str, value: str, rowtime: str, number: str) -> str:
        return self.row(key, value, rowtime)[:-1] + f", 'n', {number})"

    def _pass(self) -> str:
        nothing = f"cast(null as {self.own})", self.gone()
        passing = [f"'{p}', row.{p}" for p in self.passing]
        return self.output("row.input", *nothing, "row.rowtime", [*passing, "'n', 0L"])

    def _none(self) -> str:
        return f"cast(null as {self.right})"

    def _of_left(self) -> str:
        time = "greatest(row.rowtime, state.rt)"
        met = f"array({self._told('row.key', self.value('row.value', 'state.r'), time, 'row.offset')})"
        padded = self._told("row.key", self.value("row.value", self._none()), "row.rowtime", "row.offset")
        gone = self._told("row.key", self.gone(), "row.rowtime", "row.offset")
        missing = padded if self.join.outer.left else gone
        return (
            f"case row.what when {_GONE} then array() when {_END} then array({gone}) "
            f"when {_STAND} then if(state.r is null, array({missing}), {met}) "
            f"when {_FIND} then if(state.r is null, array(), {met}) "
            f"else array(if(row.value is null, {gone}, {padded})) end"
        )

    def _of_right(self) -> str:
        """A row of the right table is told to all who subscribed to it, in the order of their keys."""
        time = "greatest(row.rowtime, x9.t)"
        met = self._told("x9.k", self.value("x9.v", "row.rv"), time, "x9.n")
        missing = self.value("x9.v", self._none()) if self.join.outer.left else self.gone()
        alone = self._told("x9.k", missing, time, "x9.n")
        return f"coalesce(transform(state.s, x9 -> if(row.rv is null, {alone}, {met})), array())"

    # ------------------------------------------------------------ what still holds

    def _latest(self) -> Fold:
        """The left row's offset numbers what is told of it: what is older than the newest known is left out."""
        passing = [f"'{p}', row.{p}" for p in self.passing]
        row = self.output("row.input", "row.key", "row.value", "row.rowtime", passing)
        return Fold(
            by=("k", "h"),
            state="struct<n: bigint>",
            update="if(row.input <> 0, null, named_struct('n', greatest(row.n, state.n)))",
            emit=f"if(row.input = 0 and row.n < coalesce(state.n, row.n), array(), array({row}))",
            out=self.out,
            label=f"{self.query}.join",
        )
