"""Foreign-key joins of tables: three folds.

The first, by the left table's key, stores the foreign key of the left row and moves its subscription. The second, by
the foreign key, stores the right table's row and the subscriptions, and emits every change. The third, again by the
left's key, drops outdated results: outputs for a left row that was replaced meanwhile, which may arrive after newer
ones because another task has emitted them. `SELECT * FROM orders o JOIN users u ON o.user = u.id`:

    record             state 1, by o.id    to u.id                       state 2, by u.id              rows
    user u1: Ann       none                the row itself                u1: Ann, no subscriptions     none
    order o1: {u1}     o1: u1              u1: FIND o1                   u1: Ann, [o1]                 o1: {u1, Ann}
    user u1: Bea       none                the row itself                u1: Bea, [o1]                 o1: {u1, Bea}
    order o1: {u2}     o1: u2              u1: DELETE o1; u2: ANSWER o1  u1: Bea, []; u2: null, [o1]   o1: tombstone
    user u2: Cy        none                the row itself                u2: Cy, [o1]                  o1: {u2, Cy}
    order o1: null     none                u2: RETRACT o1                u2: Cy, []                    o1: tombstone
"""

from enum import IntEnum

from millstream.functions.operator_expressions import (
    OperatorExpression,
    SqlOperand,
    StructLayout,
    array,
    bigint,
    call,
    case,
    column,
    if_,
    integer,
    let,
    struct_of,
)
from millstream.functions.operator_sql import spark_sql
from millstream.spark.fold import METADATA_TYPES, PLACE_TYPES, ROW, STATE, Fold, fold
from millstream.spark.group_folds import sorted_key
from millstream.spark.join_step import JoinStep, key_of, right_layout
from millstream.spark.lazy_frame import LazyFrame


class _Subscription(IntEnum):
    """The command that a row of the left table sends to the fold by the foreign key."""

    # The subscription ends: without an output, or with a tombstone.
    DELETE = 0
    RETRACT = 1
    # The subscription is stored, with an output: in any case, or only if the right table has a row.
    ANSWER = 2
    FIND = 3
    # There is no subscription; the output is the left row alone, or a tombstone if it is null.
    ALONE = 4


_FORWARDED = -1
_ROWTIME, _VALUE, _RIGHT = ROW.field("rowtime"), ROW.field("value"), ROW.field("right")


class ForeignKeyJoin(JoinStep):
    """A table that looks up rows of another table by a foreign key."""

    def run(self, frame: LazyFrame) -> LazyFrame:
        """The rows of this join, as input 0, and of later inputs; `frame` has those of all inputs (joins.py)."""
        messages = fold(self._left_rows(frame), self._subscribing(), self.live)
        answers = fold(self._all_rows(messages), self._answering(), self.live)
        return fold(answers.select("*", *self._left_group(self.spread())), self._latest(), self.live)

    # ------------------------------------------------------------ the subscription of a left row

    def _rights(self) -> dict[str, StructLayout]:
        """The inputs whose rows the first fold forwards, including the right table."""
        return {f"right{self.place}": right_layout(self.join), **self.forwarded}

    def _left_rows(self, frame: LazyFrame) -> LazyFrame:
        key = key_of(self.join, self.join.left_keys, self.query)
        foreign_key = f"if(input = 0 and value is not null, {key}, null) as foreign_key"
        keys = ", ".join(f"{name}.join_key" for name in self._rights())
        group = self._left_group(f"xxhash64({keys})")
        return frame.select("input", "key", "value", foreign_key, "rowtime", *PLACE_TYPES, *self._rights(), *group)

    @staticmethod
    def _left_group(spread: str) -> tuple[str, str]:
        """The left row's group: its key, and the number that spreads forwarded rows over the tasks."""
        return "if(input = 0, key, null) as left_key", f"if(input = 0, 0L, {spread}) as spread"

    def _message_layout(self) -> StructLayout:
        rights = {name: layout.type for name, layout in self._rights().items()}
        own = {"foreign_key": self.key.type, "key": self.own_key.type, "value": self.left.type}
        return StructLayout({"input": "int", "subscription": "int", **own, **rights, **METADATA_TYPES})

    def _message(self, subscription: _Subscription, foreign_key: OperatorExpression) -> OperatorExpression:
        values: dict[str, SqlOperand] = {name: ROW.field(name) for name in ("key", "value", *METADATA_TYPES)}
        values |= {name: layout.null() for name, layout in self._rights().items()}
        values |= {"input": integer(0), "subscription": integer(subscription), "foreign_key": foreign_key}
        return array(self._message_layout().new(values))

    def _subscribing(self) -> Fold:
        """By the left's key: the state is the foreign key that its row is subscribed to."""
        layout = StructLayout({"foreign_key": self.key.type})
        message = self._message_layout()
        values: dict[str, SqlOperand] = {name: ROW.field(name) for name in message.types if name != "subscription"}
        forwarded = message.new({**values, "subscription": integer(_FORWARDED), "foreign_key": self.key.null()})
        is_left = ROW.field("input").equals(integer(0))
        stored = layout.new({"foreign_key": ROW.field("foreign_key")})
        return Fold(
            by=("left_key", "spread"),
            state=layout.type,
            update=spark_sql(if_(~is_left | _VALUE.is_null(), layout.null(), stored)),
            emit=spark_sql(if_(~is_left, array(forwarded), self._moves())),
            out=message.type,
            label=self.label,
        )

    def _moves(self) -> OperatorExpression:
        """The effect of a row of the left table on subscriptions."""
        outer = self.join.outer.left
        old, new = STATE.field("foreign_key"), ROW.field("foreign_key")
        subscribed, subscribes = self.key.complete(old), self.key.complete(new)
        answer = self._message(_Subscription.ANSWER, new)
        find = self._message(_Subscription.FIND, new)
        retract = self._message(_Subscription.RETRACT, old)
        delete = self._message(_Subscription.DELETE, old)
        alone = self._message(_Subscription.ALONE, new) if outer else array()
        return case(
            (_VALUE.is_null() & STATE.is_null(), array()),
            (_VALUE.is_null(), if_(subscribed, retract, alone)),
            (subscribed & subscribes, if_(old.same_as(new), answer, call("concat", delete, answer))),
            (subscribes, answer if outer else find),
            (subscribed, call("concat", delete, alone) if outer else retract),
            otherwise=alone,
        )

    # ------------------------------------------------------------ the right row and its subscriptions

    def _all_rows(self, messages: LazyFrame) -> LazyFrame:
        right = f"right{self.place}"
        side = f"case when input = 0 then 0 when input = {self.place} then 1 end as side"
        key = f"if(input = {self.place}, {right}.join_key, foreign_key) as join_key"
        order = sorted_key([c.type for c in self.join.left.schema.key], column("key"))
        columns = ("input", "subscription", key, "key", "value", f"{right}.value as right", side)
        metadata = ("rowtime", *PLACE_TYPES, *self.forwarded)
        rows = messages.select(*columns, f"{spark_sql(order)} as key_order", *metadata)
        spread = f"if(input = 0, xxhash64(key), {self.spread()})"
        return rows.select("*", f"if(join_key is null, {spread}, 0L) as spread")

    def _answering(self) -> Fold:
        """By the foreign key: the state is the right row, its time, and the subscribed left rows, ordered by key.

        Nothing reads the time of a subscribed row; it is there because saved states have it.
        """
        left = {"key": self.own_key.type, "value": self.left.type, "rowtime": "bigint", "offset": "bigint"}
        subscription = StructLayout({"key_order": "binary", **left})
        entries = f"array<{subscription.type}>"
        layout = StructLayout({"right": self.right.type, "right_time": "bigint", "subscriptions": entries})
        subscriptions = call("coalesce", STATE.field("subscriptions"), array().cast(entries))
        of_left = {
            "right": STATE.field("right"),
            "right_time": STATE.field("right_time"),
            "subscriptions": self._subscriptions(subscriptions, subscription),
        }
        of_right = {"right": _RIGHT, "right_time": _ROWTIME, "subscriptions": subscriptions}
        side = ROW.field("side")
        forwarded = side.is_null() | ROW.field("join_key").is_null()
        return Fold(
            by=("join_key", "spread"),
            state=layout.type,
            update=spark_sql(
                case(
                    (forwarded, layout.null()),
                    (side.equals(integer(0)), _unless_empty(layout, of_left)),
                    otherwise=_unless_empty(layout, of_right),
                )
            ),
            emit=spark_sql(
                case(
                    (side.equals(integer(0)), self._answers_to_left()),
                    (side.equals(integer(1)), self._answers_to_right()),
                    otherwise=array(self.forward(number=bigint(0))),
                )
            ),
            out=StructLayout({**self.out.types, "number": "bigint"}).type,
            label=self.label,
        )

    def _subscriptions(self, subscriptions: OperatorExpression, layout: StructLayout) -> OperatorExpression:
        """The subscriptions after adding that of the current row, or removing it if it ends."""
        key_order = ROW.field("key_order")

        def is_before(entry: OperatorExpression) -> OperatorExpression:
            """True for the left rows before the current one: with a lower order, or another key of the same order."""
            is_other = ~entry.field("key").same_as(ROW.field("key"))
            order = entry.field("key_order")
            return (order < key_order) | (order.equals(key_order) & is_other)

        before = subscriptions.filter("entry", is_before)
        after = subscriptions.filter("entry", lambda entry: entry.field("key_order") > key_order)
        new = array(layout.new({name: ROW.field(name) for name in layout.types}))
        subscription = ROW.field("subscription")
        subscribes = subscription.equals(integer(_Subscription.ANSWER)) | subscription.equals(
            integer(_Subscription.FIND)
        )
        return if_(subscribes, call("concat", before, new, after), call("concat", before, after))

    def _answer(
        self,
        key: OperatorExpression,
        value: OperatorExpression,
        rowtime: OperatorExpression,
        number: OperatorExpression,
    ) -> OperatorExpression:
        """A row of the result; `number` is the offset of the left row that it belongs to."""
        return self.row(key, value, rowtime, number=number)

    def _answers_to_left(self) -> OperatorExpression:
        """The results for a message of a left row, by its kind (`_Subscription`), with the right row of the state."""
        key, offset, right = ROW.field("key"), ROW.field("offset"), STATE.field("right")
        time = call("greatest", _ROWTIME, STATE.field("right_time"))
        joined = array(self._answer(key, self.value(_VALUE, right), time, offset))
        alone = self._answer(key, self.value(_VALUE, self.right.null()), _ROWTIME, offset)
        tombstone = self._answer(key, self.joined.null(), _ROWTIME, offset)
        retracted = self._answer(key, self.joined.null(), if_(right.is_null(), _ROWTIME, time), offset)
        missing = alone if self.join.outer.left else tombstone
        answers = {
            _Subscription.DELETE: array(),
            _Subscription.RETRACT: array(retracted),
            _Subscription.ANSWER: if_(right.is_null(), array(missing), joined),
            _Subscription.FIND: if_(right.is_null(), array(), joined),
        }
        message = ROW.field("subscription")
        return case(
            *((message.equals(integer(subscription)), answer) for subscription, answer in answers.items()),
            otherwise=array(if_(_VALUE.is_null(), tombstone, alone)),
        )

    def _answers_to_right(self) -> OperatorExpression:
        """A row of the right table joins every subscribed left row, in the order of their keys.

        As in Kafka Streams (ForeignTableJoinProcessorSupplier), the results have its time, whatever the left rows have.
        """

        def answer(entry: OperatorExpression) -> OperatorExpression:
            """The result row of one subscribed left row with the current right row, or without one."""
            key, left, number = entry.field("key"), entry.field("value"), entry.field("offset")
            missing = self.value(left, self.right.null()) if self.join.outer.left else self.joined.null()
            joined = self._answer(key, self.value(left, _RIGHT), _ROWTIME, number)
            return if_(_RIGHT.is_null(), self._answer(key, missing, _ROWTIME, number), joined)

        return call("coalesce", STATE.field("subscriptions").map_each("entry", answer), array())

    # ------------------------------------------------------------ dropping outdated results

    def _latest(self) -> Fold:
        """By the left's key: the state is the greatest number of its results; a result with a smaller one is
        dropped."""
        layout = StructLayout({"number": "bigint"})
        number, newest = ROW.field("number"), STATE.field("number")
        is_left = ROW.field("input").equals(integer(0))
        row = struct_of({name: ROW.field(name) for name in self.out.types})
        stale = is_left & (number < call("coalesce", newest, number))
        return Fold(
            by=("left_key", "spread"),
            state=layout.type,
            update=spark_sql(if_(~is_left, layout.null(), layout.new({"number": call("greatest", number, newest)}))),
            emit=spark_sql(if_(stale, array(), array(row))),
            out=self.out.type,
            label=self.label,
        )


def _unless_empty(layout: StructLayout, values: dict[str, OperatorExpression]) -> OperatorExpression:
    """The state; null if it has neither a right row nor subscriptions."""

    def state(subscriptions: OperatorExpression) -> OperatorExpression:
        empty = call("size", subscriptions).equals(0) & values["right"].is_null()
        return if_(empty, layout.null(), layout.new({**values, "subscriptions": subscriptions}))

    return let("subscriptions", values["subscriptions"], state)
