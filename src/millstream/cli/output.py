"""Output of answers: to a terminal as tables that fit it, to a pipe as plain text, or as JSON; and to the spool."""

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TextIO

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text as RichText

from millstream.cli import plain
from millstream.cli.client import Entity, RowStream
from millstream.cli.display import Grid, Part, Sql, Text, cell, numeric, printable
from millstream.cli.entities import parts
from millstream.cli.error_report import ErrorReport
from millstream.cli.highlighting import SqlLexer
from millstream.cli.live_rows import LiveRows, screen_rows, watch
from millstream.cli.widths import BETWEEN, comfortable, fitted, natural, unbroken_widths
from millstream.server.text import dumps

STYLES = {"title": "bold", "good": "green", "warning": "yellow", "dim": "dim"}
# Rows that are laid out together, with the same widths of columns.
PAGE = 500
# The most rows of a watched query that are kept, to be shown again at its end.
MOST_ROWS = 10_000
# A table whose rows would take more lines than this is shown as records.
MOST_LINES = 6


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """How answers are written; `width` 0 means that columns are as wide as their cells and the terminal allow."""

    json: bool = False
    wrap: bool = True
    width: int = 0


class Output:
    """The two consoles of a session (`errors` for errors), and the spool file, which gets a copy of everything."""

    def __init__(self, console: Console, errors: Console, format: OutputFormat) -> None:
        self.console, self.errors, self.format = console, errors, format
        # Shows text that is longer than the screen; None if there is no terminal to page on.
        self.pager: Callable[[str], None] | None = None
        self._spool: TextIO | None = None

    @property
    def on_terminal(self) -> bool:
        """True if the output is a terminal."""
        return self.console.is_terminal

    def change(self, **settings: Any) -> None:
        """Change the format: json, wrap, width."""
        self.format = replace(self.format, **settings)

    def spool_to(self, file: TextIO | None) -> None:
        """Copy all output to a file from now on; None = stop copying."""
        if self._spool is not None:
            self._spool.close()
        self._spool = file

    def spool(self, text: str) -> None:
        """Write text to the spool file only."""
        if self._spool is not None:
            print(text, file=self._spool, flush=True)

    def entities(self, entities: Sequence[Entity]) -> None:
        """Show the answers of statements."""
        for entity in entities:
            if self.format.json:
                self.line(json.dumps(entity, indent=2, ensure_ascii=False))
            else:
                self.show(parts(entity))

    def show(self, shown: Iterable[Part]) -> None:
        """Show the parts of an answer, one after the other."""
        pieces = list(shown)
        for part in pieces:
            self.spool(_plain(part))
        if not self.on_terminal:
            for part in pieces:
                self._write(_plain(part))
            return
        with self.console.capture() as captured:
            for part in pieces:
                self._draw(part)
        text = captured.get()
        if self.pager is not None and text.count("\n") >= self.console.height:
            self.pager(text)
        else:
            self._write(text, end="")

    def line(self, text: str) -> None:
        """Show a line unchanged, but with escaped control characters on a terminal."""
        self.spool(text)
        self._write(printable(text) if self.on_terminal else text)

    def note(self, text: str) -> None:
        """Show a remark to the user; it is not part of the answer and not written to files and pipes."""
        if self.on_terminal:
            self.console.print(RichText(text, "dim"))

    def error(self, report: ErrorReport) -> None:
        """Show an error, with its hint, on standard error; to the spool file it is written too."""
        self.spool(report.text)
        shown = RichText(report.text)
        shown.stylize("bold red", 0, len("error:"))
        if report.caret:
            shown.highlight_words([report.caret.strip()], "bold red")
        if report.hint:
            shown.stylize("yellow", len(report.text) - len(f"hint: {report.hint}"))
        self.errors.print(shown, soft_wrap=True)

    def rows(self, answer: RowStream, live: bool, keeps_all: bool) -> None:
        """Show the rows of a query as they arrive, and at the end how many there were.

        On a terminal the rows of a `live` query are watched; at the end all rows remain there, or only the last screen.
        """
        counted, ending = CountedRows(answer.rows), ""
        try:
            self._show_rows(answer, counted, live, keeps_all)
        except KeyboardInterrupt:
            ending = ", stopped"
            raise
        finally:
            self.note(f"{counted.count:,} row{'' if counted.count == 1 else 's'}{ending}")

    def _show_rows(self, answer: RowStream, counted: "CountedRows", live: bool, keeps_all: bool) -> None:
        names, right = answer.names, numeric(answer.types)
        if self.format.json:
            for row in counted:
                self.line(dumps(dict(zip(names, row, strict=True))))
        elif not self.on_terminal:
            self._plain_rows(answer, counted)
        elif live:
            self._watched(Grid(names, (), right), counted, keeps_all)
        else:
            self._pages(Grid(names, (), right), counted)

    def _plain_rows(self, answer: RowStream, rows: Iterable[Sequence[Any]]) -> None:
        columns = plain.columns_for(answer.names, answer.types, numeric(answer.types))
        self.line(columns.line(answer.names))
        self.line(columns.rule())
        for row in rows:
            self.line(plain.row_line(columns, row))

    def _watched(self, head: Grid, rows: Iterable[Sequence[Any]], keeps_all: bool) -> None:
        screen = screen_rows(self.console)
        watched = LiveRows(head.columns, MOST_ROWS if keeps_all else screen, screen)
        try:
            watch(self.console, watched, rows, lambda shown, widths: self._cut(head, shown, widths))
        finally:
            if keeps_all:
                self._pages(head, watched.last_rows)
            else:
                self.console.print(self._cut(head, watched.last_rows, watched.widths()))
                self.spool(plain.grid_text(replace(head, rows=watched.last_rows)))

    def _cut(self, head: Grid, rows: Iterable[Sequence[str]], widths: Sequence[int]) -> Table:
        """One line for each row: long cells are cut, and columns that do not fit are left out."""
        count = comfortable(widths, self._available_width - 2, unbroken_widths(head.columns))
        if count == len(widths):
            return self._table(head, rows, widths, wrap=False)
        fewer = Grid([*head.columns[:count], "…"], (), head.right)
        return self._table(fewer, ([*row[:count], "…"] for row in rows), [*widths[:count], 1], wrap=False)

    def _pages(self, head: Grid, rows: Iterable[Sequence[Any]]) -> None:
        """Show rows that arrive all at once; the first of them determine the widths of the columns."""
        source, widths = iter(rows), list[int]()
        while page := [[printable(cell(value)) for value in row] for row in islice(source, PAGE)]:
            first = not widths
            widths = widths or natural(head.columns, page)
            if self.format.wrap and not self._fits_terminal(head, widths):
                self._records(head, page)
            else:
                self.console.print(self._table(head, page, widths, show_header=first))
            self.spool(plain.grid_text(replace(head, rows=page)))
        if not widths:
            self.console.print(self._table(head, (), natural(head.columns, ())))

    def _records(self, head: Grid, rows: Iterable[Sequence[str]]) -> None:
        """Show rows with more columns than fit side by side: one line for each column."""
        for row in rows:
            self.console.rule(style="dim")
            pairs = list(zip(head.columns, row, strict=True))
            self.console.print(self._table(Grid(("", ""), ()), pairs, natural(("", ""), pairs)))

    @property
    def _available_width(self) -> int:
        return self.console.width - 1

    def _fits_terminal(self, head: Grid, widths: Sequence[int]) -> bool:
        """True if the columns fit side by side with unbroken names; always true with a width chosen by the user."""
        return bool(self.format.width) or comfortable(
            widths, self._available_width, unbroken_widths(head.columns)
        ) == len(widths)

    def _is_flat(self, head: Grid, rows: Sequence[Sequence[str]], widths: Sequence[int]) -> bool:
        """True if no row takes more than MOST_LINES lines, as a long statement in a narrow column does."""
        if self.format.width:
            return True
        available = self._available_width - BETWEEN * (len(widths) - 1)
        narrowed = fitted(widths, available, unbroken_widths(head.columns))
        return all(
            cell_len(text) <= width * MOST_LINES for row in rows for text, width in zip(row, narrowed, strict=True)
        )

    def _draw(self, part: Part) -> None:
        match part:
            case Grid():
                cells = [[printable(cell(value)) for value in row] for row in part.rows]
                widths = natural(part.columns, cells)
                is_table = self._fits_terminal(part, widths) and self._is_flat(part, cells, widths)
                if any(part.columns) and self.format.wrap and cells and not is_table:
                    self._records(part, cells)
                else:
                    self.console.print(self._table(part, cells, widths))
            case Sql():
                shown = Syntax(part.text, SqlLexer(), theme="ansi_dark", background_color="default", word_wrap=True)
                self.console.print(shown)
            case Text():
                self.console.print(RichText(printable(part.text), STYLES.get(part.style, "")))

    def _table(
        self,
        head: Grid,
        rows: Iterable[Sequence[str]],
        widths: Sequence[int],
        show_header: bool = True,
        wrap: bool = True,
    ) -> Table:
        """A rich table of rows; `widths` are the widths that the columns need, reduced to those that fit the terminal.

        Cells that are too long are folded if `wrap` and the format say so, else cut. `show_header` False continues a
        table.
        """
        available = self._available_width - BETWEEN * (len(widths) - 1)
        least = unbroken_widths(head.columns)
        widths = [self.format.width] * len(widths) if self.format.width else fitted(widths, available, least)
        table = Table(
            box=box.SIMPLE_HEAD,
            show_header=show_header and any(head.columns),
            pad_edge=False,
            padding=(0, 1, 0, 0),
            show_edge=False,
        )
        _add_columns(table, head, widths, fold=wrap and self.format.wrap)
        for row in rows:
            table.add_row(*(RichText(text, "dim" if text == "null" else "") for text in row))
        return table

    def _write(self, text: str, end: str = "\n") -> None:
        # Not through rich: a pipe gets the unchanged text, however long its lines are.
        with contextlib.suppress(BrokenPipeError):
            print(text, end=end, file=self.console.file, flush=True)


class CountedRows:
    """An iterator of rows that counts them."""

    def __init__(self, rows: Iterable[Sequence[Any]]) -> None:
        self._rows, self.count = rows, 0

    def __iter__(self) -> Iterator[Sequence[Any]]:
        for row in self._rows:
            self.count += 1
            yield row


def _add_columns(table: Table, head: Grid, widths: Sequence[int], fold: bool) -> None:
    """Add the columns of a grid; a cell that is too long is folded into several lines, or cut."""
    for at, (name, width) in enumerate(zip(head.columns, widths, strict=True)):
        table.add_column(
            RichText(name, "bold"),
            width=width,
            no_wrap=not fold,
            overflow="fold" if fold else "ellipsis",
            justify="right" if at in head.right else "left",
        )


def _plain(part: Part) -> str:
    return plain.grid_text(part) if isinstance(part, Grid) else part.text
