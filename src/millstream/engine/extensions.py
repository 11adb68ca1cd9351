"""The server's own functions: the Python files of a folder, loaded when the server starts."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from millstream.catalog.functions import UserFunction
from millstream.model.errors import StatementError
from millstream.model.settings import is_on
from millstream.plan.functions import ENABLED, functions_in_file
from millstream.services.named_files import why_unreadable
from millstream.udf.code import BadCode

FOLDER = "ksql.extension.dir"


class BadExtension(Exception):
    """A file of functions that cannot be loaded: which file, which line, and why."""


def functions(settings: Mapping[str, str]) -> dict[str, UserFunction]:
    """The functions that the files of the folder declare, by name; empty if they are switched off.

    Raises BadExtension.
    """
    declared: dict[str, UserFunction] = {}
    for path in _files(Path(settings[FOLDER])) if is_on(settings, ENABLED) else ():
        for function in _of(path):
            if function.name in declared:
                raise BadExtension(f"{path}: {function.name} is declared in {declared[function.name].file} too")
            declared[function.name] = function
    return declared


def _files(folder: Path) -> Sequence[Path]:
    """The Python files of the folder; empty if it does not exist. Raises BadExtension if it cannot be read."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".py") if folder.is_dir() else []
    except OSError as error:
        raise BadExtension(f"{FOLDER}, {folder}: {why_unreadable(error)}") from error


def _of(path: Path) -> Iterator[UserFunction]:
    try:
        yield from functions_in_file(path.read_text(encoding="utf-8"), str(path))
    except BadCode as bad:
        hint = f"\n  hint: {bad.hint}" if bad.hint else ""
        raise BadExtension(f"{path}, line {bad.line}: {bad.fact}{hint}") from bad
    except (OSError, UnicodeDecodeError) as error:
        raise BadExtension(f"{path}: {why_unreadable(error)}") from error
    except StatementError as error:
        raise BadExtension(f"{path}: {error}") from error
