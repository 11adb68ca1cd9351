"""Statements by chance: those of the language, with expressions of every kind, some of them mutated."""

import random
import string
from collections.abc import Callable

NAMES = ("orders", "people", "nowhere", "`odd name`", "ROWTIME", "id", "name", "v", "s->x", "tags[1]", "o.id")
FUNCTIONS = ("UCASE", "ABS", "LEN", "SUBSTRING", "CONCAT", "COUNT", "TRANSFORM", "SPLIT", "DATEADD", "NOSUCH", "MAX")
LITERALS = (
    "1",
    "-0",
    "2.5",
    "1e308",
    "9223372036854775808",
    "'text'",
    "''",
    "'\u0000'",
    "TRUE",
    "NULL",
    "'☃'",
    "1E-999",
)
TYPES = ("INT", "STRING", "DECIMAL(38, 38)", "DECIMAL(4, 9)", "ARRAY<INT>", "MAP<STRING, STRUCT<x INT>>", "nothing")
OPERATORS = ("+", "-", "*", "/", "%", "||", "=", "<>", "<", ">=", "AND", "OR", "IS DISTINCT FROM", "LIKE")
PROPERTIES = (
    "auto.offset.reset",
    "ksql.suppress.enabled",
    "no.such.property",
    "ksql.service.id",
    "linger.ms",
    "\u2028",
)
VALUES = ("earliest", "true", "-1", "", "²", "9" * 40, "garbage", "1 minute", "\u0000", "%s%n", "${x}")
DEEP, MUTATED = 5, 0.15


class Grammar:
    """Statements of one seed."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def statement(self) -> str:
        """A statement, with its semicolon unless it is mutated."""
        text = self._chance.choice(self._forms())()
        return self._mutated(text) if self._chance.random() < MUTATED else text

    def setting(self) -> tuple[str, str]:
        """A property and a value for it."""
        return self._one(PROPERTIES), self._one(VALUES)

    def _forms(self) -> tuple[Callable[[], str], ...]:
        one, name = self._one, self._name
        return (
            lambda: f"EXPLAIN {self._query()} EMIT CHANGES;",
            lambda: f"EXPLAIN CREATE TABLE {name()} AS {self._query()} GROUP BY {self.expression()};",
            lambda: f"CREATE TYPE {self._fresh()} AS {one(TYPES)};",
            lambda: f"CREATE STREAM {name()} ({self._fresh()} {one(TYPES)} KEY) WITH (kafka_topic={one(LITERALS)});",
            lambda: f"INSERT INTO {name()} ({name()}) VALUES ({self.expression()});",
            lambda: f"DESCRIBE {name()} EXTENDED;",
            lambda: f"DESCRIBE FUNCTION {one(FUNCTIONS)};",
            lambda: f"SHOW {one(('STREAMS', 'TABLES', 'TOPICS', 'TYPES', 'QUERIES', 'PROPERTIES', 'FUNCTIONS'))};",
            lambda: f"DROP STREAM {name()};",
            lambda: f"TERMINATE {self._fresh()};",
            lambda: "SET '{}' = '{}'; SHOW STREAMS;".format(*self.setting()),
            lambda: f"DEFINE {self._fresh()} = {one(LITERALS)}; SHOW ${{{self._fresh()}}};",
            lambda: f"ASSERT TOPIC {name()} TIMEOUT {self._chance.randint(0, 50)} MILLISECONDS;",
            lambda: self.expression(),
        )

    def _query(self) -> str:
        join = f" JOIN {self._name()} b WITHIN 1 HOUR ON a.id = b.id" if self._chance.random() < 0.3 else ""
        window = " WINDOW TUMBLING (SIZE 10 SECONDS)" if self._chance.random() < 0.2 else ""
        where = f" WHERE {self.expression()}" if self._chance.random() < 0.5 else ""
        items = ", ".join(f"{self.expression()} AS c{n}" for n in range(self._chance.randint(1, 4)))
        return f"SELECT {items} FROM {self._name()} a{join}{window}{where}"

    def expression(self, depth: int = DEEP) -> str:
        """An expression of at most so many levels."""
        if depth == 0 or self._chance.random() < 0.3:
            return self._one(LITERALS) if self._chance.random() < 0.5 else self._name()
        inner = [self.expression(depth - 1) for _ in range(3)]
        forms = (
            f"({inner[0]} {self._one(OPERATORS)} {inner[1]})",
            f"{self._one(FUNCTIONS)}({', '.join(inner[: self._chance.randint(0, 3)])})",
            f"CAST({inner[0]} AS {self._one(TYPES)})",
            f"CASE WHEN {inner[0]} THEN {inner[1]} ELSE {inner[2]} END",
            f"ARRAY[{inner[0]}, {inner[1]}]",
            f"STRUCT(x := {inner[0]}, y := {inner[1]})",
            f"{inner[0]} IN ({inner[1]}, {inner[2]})",
            f"NOT {inner[0]}",
            f"TRANSFORM({inner[0]}, x => {inner[1]})",
        )
        return self._one(forms)

    def _mutated(self, text: str) -> str:
        place = self._chance.randrange(len(text) + 1)
        direction = self._chance.randrange(4)
        if direction == 0:
            return text[:place] + text[place + self._chance.randint(1, 5) :]
        if direction == 1:
            return text[:place] + self._one("'`\"();$\x00\\{}/*\ud7ff\ufffe☃" + string.punctuation) + text[place:]
        if direction == 2:
            return text[:place] * self._chance.randint(2, 40)
        return text.replace(" ", self._one(("\t", "\u00a0", "--\n", "/* */", "\r")))

    def _name(self) -> str:
        return self._one(NAMES)

    def _fresh(self) -> str:
        return f"f{self._chance.randrange(20)}"

    def _one(self, among: tuple[str, ...] | str) -> str:
        return self._chance.choice(among)
