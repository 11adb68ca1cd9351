"""The prompt: input of statements over several lines, with completion, highlighting and history."""

import os
from collections.abc import Sequence
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import Output as Screen

from millstream.cli.commands import find
from millstream.cli.completion import SqlCompleter
from millstream.cli.highlighting import STYLE, SqlLexer
from millstream.cli.statements import is_complete

MARK = "millstream> "


class Prompt:
    """Reads what the user types; `history` is the file with earlier input (None = the history is not saved)."""

    def __init__(
        self, words: SqlCompleter, history: Path | None, input: Input | None = None, screen: Screen | None = None
    ) -> None:
        self._session: PromptSession[str] = PromptSession(
            FormattedText([("class:prompt", MARK)]),
            multiline=True,
            prompt_continuation=_continuation,
            completer=words,
            complete_while_typing=True,
            complete_in_thread=True,
            lexer=PygmentsLexer(SqlLexer),
            style=STYLE,
            history=_remembered(history),
            auto_suggest=AutoSuggestFromHistory(),
            key_bindings=_keys(),
            enable_history_search=False,
            input=input,
            output=screen,
        )

    def read(self) -> str:
        """The next statement or command. Raises KeyboardInterrupt (Ctrl-C) and EOFError (Ctrl-D)."""
        return self._session.prompt()

    def typed(self) -> Sequence[str]:
        """Earlier input, the oldest first."""
        return list(self._session.history.get_strings())


def history_file() -> Path:
    """The history file: $XDG_STATE_HOME/millstream/history, by default under ~/.local/state."""
    return Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser() / "millstream" / "history"


def is_finished(text: str) -> bool:
    """True if Enter sends the text: a complete statement, a command of the shell, or an empty text."""
    stripped = text.strip()
    return not stripped or is_complete(stripped) or ("\n" not in stripped and find(stripped)[0] is not None)


def _remembered(file: Path | None) -> History:
    if file is None:
        return InMemoryHistory()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
    except OSError:  # without a writable home the shell works, but saves no history
        return InMemoryHistory()
    return FileHistory(file)


def _continuation(width: int, line: int, wrapped: int) -> FormattedText:
    return FormattedText([("class:continuation", "> ".rjust(width))])


def _keys() -> KeyBindings:
    """The meaning of Enter: it takes a completion, sends a finished text, or else begins a line. Alt+Enter always
    sends.
    """
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None
        elif is_finished(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return keys
