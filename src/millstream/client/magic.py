"""The IPython magics `%ksql` and `%%ksql`: docs/python-client.md#notebooks. `%load_ext millstream` registers them.

    %%ksql --limit 5 hot <<
    SELECT * FROM readings WHERE celsius > 40 EMIT CHANGES;

shows five rows as they arrive, and assigns them to `hot`. This is the only module that imports IPython.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from IPython.core.magic import no_var_expand
from IPython.display import DisplayHandle, display

from millstream.client.connection import Connection, connect
from millstream.client.errors import MillstreamError
from millstream.client.exchange import server_version
from millstream.client.live_display import INTERRUPTED, DisplayedQuery, DisplayLimits
from millstream.client.rows import Row
from millstream.client.script import ScriptPart, parts
from millstream.client.tables import ResultTable, result_table, shown

DEFAULT_URL = "http://localhost:8088"
LIMIT = re.compile(r"\s*--(limit)[ =]\s*(\S+)|\s*--(seconds)[ =]\s*(\S+)", re.IGNORECASE)
ASSIGNED = re.compile(r"\s*([A-Za-z_]\w*)\s*<<")
URL = re.compile(r"\s*(https?://\S+)\s*", re.IGNORECASE)
PLACE = re.compile(r"\bline (\d+):(\d+)")
# Statements that change the session. The server checks them; the magic sends their effect with each later request.
SET = re.compile(r"\s*SET\s+'((?:[^']|'')*)'\s*=\s*'((?:[^']|'')*)'\s*;", re.IGNORECASE)
UNSET = re.compile(r"\s*UNSET\s+'((?:[^']|'')*)'\s*;", re.IGNORECASE)
DEFINE = re.compile(r"\s*DEFINE\s+([A-Za-z_][\w@]*)\s*=\s*'((?:[^']|'')*)'\s*;", re.IGNORECASE)
UNDEFINE = re.compile(r"\s*UNDEFINE\s+([A-Za-z_][\w@]*)\s*;", re.IGNORECASE)


class CellError(MillstreamError):
    """A cell that failed. IPython shows its text in place of a traceback, and later cells of a run are not executed."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@dataclass(frozen=True, slots=True)
class CellOptions:
    """The options before the statements: limits, and the variable that the last table is assigned to."""

    limits: DisplayLimits
    variable: str | None
    script: str


def cell_options(line: str, cell: str) -> CellOptions:
    """The options at the beginning of `line`; the rest of it and `cell` are the script, with places as in the cell.

    Raises CellError if an option's value is not a number.
    """
    values: dict[str, float] = {}
    end = 0
    while option := LIMIT.match(line, end):
        name, text = option[1] or option[3], option[2] or option[4]
        values[name.lower()] = _number(name.lower(), text)
        end = option.end()
    assigned = ASSIGNED.match(line, end)
    end = assigned.end() if assigned else end
    rows = values.get("limit")
    limits = DisplayLimits(None if rows is None else int(rows), values.get("seconds"))
    return CellOptions(limits, assigned[1] if assigned else None, f"{' ' * end}{line[end:]}\n{cell}")


def _number(name: str, text: str) -> float:
    try:
        number = float(text) if name == "seconds" else int(text)
    except ValueError:
        number = 0
    if not number > 0:
        hint = "write --limit 20 for twenty rows" if name == "limit" else "write --seconds 1.5"
        raise CellError(f"%ksql: --{name} {text} is not a number greater than 0\n  hint: {hint}")
    return number


class KsqlMagic:
    """The magics of one IPython shell: a connection, the session's settings and variables."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._connection: Connection | None = None
        self._properties: dict[str, Any] = {}
        self._variables: dict[str, str] = {}

    def run_line(self, line: str) -> ResultTable | None:
        """`%ksql`: connect, or execute statements and return the last one's answer, which IPython shows or assigns.

        The result is None if there is nothing to show. Raises CellError.
        """
        if self._connected_by(line):
            return None
        options = cell_options(line, "")
        answer = self._run(options, returned=options.variable is None)
        if options.variable is None:
            return answer
        self._assign(options.variable, answer)
        return None

    def run_cell(self, line: str, cell: str) -> None:
        """`%%ksql`: execute the statements of a cell, and show each answer when it is there. Raises CellError."""
        url = URL.match(line)
        if url:
            self._connect(url[1])
            line = " " * url.end() + line[url.end() :]
        options = cell_options(line, cell)
        answer = self._run(options, returned=False)
        if options.variable is not None:
            self._assign(options.variable, answer)

    def _run(self, options: CellOptions, returned: bool) -> ResultTable | None:
        """The answer of the last statement; others are displayed, and it too unless it is assigned or `returned`.

        An interrupt ends the statement, and those after it are not executed.
        """
        statements, answer = list(parts(options.script)), None
        for statement in statements:
            last = statement is statements[-1]
            try:
                answer = self._execute(statement, options, last and returned)
            except KeyboardInterrupt:
                print("interrupted")
                return None
            except MillstreamError as error:
                raise CellError(marked(str(error), options.script)) from None
            hidden = last and (returned or options.variable is not None)
            if answer is not None and not hidden and not statement.is_push:
                display(answer)
            if answer is not None and answer.note == INTERRUPTED:
                return answer
        return answer

    def _execute(self, statement: ScriptPart, options: CellOptions, returned: bool) -> ResultTable | None:
        """The answer of a statement; None if it has none. A push query is displayed here, until it ends.

        The statement is sent behind as many blanks and line breaks as precede it, so that the line and the column of an
        error are those in the cell.
        """
        blank = re.sub(r"[^\n]", " ", options.script[: statement.start])
        text, connection = blank + statement.text, self._connected()
        session: dict[str, Any] = {"properties": self._properties, "variables": self._variables}
        if statement.is_push:
            keep_rows = returned or options.variable is not None
            live = DisplayedQuery(connection.push(text, **session), options.limits, keep_rows)
            return live.follow(NotebookDisplay(returned) if hasattr(self._shell, "kernel") else TerminalDisplay())
        if statement.returns_rows:
            with connection.query(text, **session) as answer:
                rows = list(islice(answer, options.limits.rows))
                return ResultTable(answer.columns, answer.types, rows)
        results = connection.execute(text, **session)
        self._remember(statement.text)
        return result_table(results[-1]) if results else None

    def _remember(self, text: str) -> None:
        """Keep the effect of SET, UNSET, DEFINE and UNDEFINE, which the server has accepted, for later requests."""
        if match := SET.match(text):
            self._properties[_unquoted(match[1])] = _unquoted(match[2])
        elif match := UNSET.match(text):
            self._properties.pop(_unquoted(match[1]), None)
        elif match := DEFINE.match(text):
            self._undefine(match[1])
            self._variables[match[1]] = _unquoted(match[2])
        elif match := UNDEFINE.match(text):
            self._undefine(match[1])

    def _undefine(self, name: str) -> None:
        """Names of variables are not case-sensitive."""
        self._variables = {key: value for key, value in self._variables.items() if key.lower() != name.lower()}

    def _assign(self, variable: str, answer: ResultTable | None) -> None:
        """Raises CellError if there is no answer to assign."""
        if answer is None:
            raise CellError(f"%ksql: there is no answer to assign to {variable}\n  hint: end with a query")
        self._shell.user_ns[variable] = answer

    def _connected_by(self, line: str) -> bool:
        """True if `line` is empty, a server's URL, or a variable with a Connection; then that is used from now on."""
        variable = self._shell.user_ns.get(line.strip())
        if isinstance(variable, Connection):
            self._use(variable)
            return True
        url = URL.fullmatch(line)
        if url or not line.strip():
            self._connect(url[1] if url else _default_url())
            return True
        return False

    def _connected(self) -> Connection:
        """The connection; if there is none yet, that to the default URL."""
        if self._connection is None:
            self._connection = connect(_default_url())
        return self._connection

    def _connect(self, url: str) -> None:
        try:
            self._use(connect(url))
        except MillstreamError as error:
            raise CellError(str(error)) from None

    def _use(self, connection: Connection) -> None:
        """Use a connection that answers, with a new session. Raises CellError."""
        try:
            info = connection.info()
        except MillstreamError as error:
            raise CellError(f"{error}\n  hint: is `millstream dev` or `millstream server` running?") from None
        self._connection, self._properties, self._variables = connection, {}, {}
        print(f"millstream {server_version(info)} at {connection.url}: {info.get('serverStatus', '')}")


class NotebookDisplay:
    """Replaces its table in the cell's output; `returned` if IPython shows the last table itself."""

    def __init__(self, returned: bool) -> None:
        self._returned = returned
        self._handle: DisplayHandle | None = None

    def update(self, table: ResultTable, new: Sequence[Row]) -> None:
        """Show the table in place of the last one."""
        if self._handle is None:
            self._handle = display(table, display_id=True)
        else:
            self._handle.update(table)

    def end(self, table: ResultTable) -> None:
        """Show the whole table, once."""
        if not self._returned:
            self.update(table, ())
        elif self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)


class TerminalDisplay:
    """Prints each row below the columns' names."""

    def __init__(self) -> None:
        self._has_header = False

    def update(self, table: ResultTable, new: Sequence[Row]) -> None:
        """Print the rows that are new."""
        if not self._has_header:
            print(" | ".join(table.columns))
            self._has_header = True
        for row in new:
            print(" | ".join(map(shown, row)))

    def end(self, table: ResultTable) -> None:
        """Print the number of rows, and why there are no more."""
        print(table.summary())


def marked(message: str, script: str) -> str:
    """An error's message with the line of the script that it names, and a mark below the place."""
    position = PLACE.search(message)
    lines = script.split("\n")
    if not position or not 0 < int(position[1]) <= len(lines) or not lines[int(position[1]) - 1].strip():
        return message
    fact, newline, rest = message.partition("\n")
    return f"{fact}\n  {lines[int(position[1]) - 1]}\n  {' ' * (int(position[2]) - 1)}^{newline}{rest}"


def _default_url() -> str:
    """MILLSTREAM_URL, or that of a server on this machine."""
    return os.environ.get("MILLSTREAM_URL", DEFAULT_URL)


def _unquoted(text: str) -> str:
    return text.replace("''", "'")


def register(shell: Any) -> None:
    """Add the magics to an IPython shell."""
    magic = KsqlMagic(shell)

    def ksql(line: str, cell: str | None = None) -> ResultTable | None:
        """Connect to a millstream server by its URL, or execute statements: docs/python-client.md#notebooks."""
        if cell is None:
            return magic.run_line(line)
        magic.run_cell(line, cell)
        return None

    # Variables are not expanded: `{…}` and `$…` are the statement's own.
    shell.register_magic_function(no_var_expand(ksql), magic_kind="line_cell", magic_name="ksql")
