"""docs/notebook.ipynb, run by nbclient: each cell has the outputs that the page shows. REWRITE=1 writes them anew."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from clients.conftest import Program
from support.shared import ROOT

pytestmark = pytest.mark.clients

NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
# What differs from run to run: the server's address, and the numbers of queries.
ADDRESS = re.compile(r"http://[\w.]+:\d+")
NUMBER = re.compile(r"\b(C[ST]AS_\w+?_)\d+\b")


def read(path: Path) -> dict[str, Any]:
    """A notebook."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def normal(value: Any) -> Any:
    """An output without what differs from run to run, and with each text in one piece."""
    match value:
        case {}:
            return {
                name: normal(inner) for name, inner in value.items() if name not in ("execution_count", "transient")
            }
        case [*texts] if texts and all(isinstance(text, str) for text in texts):
            return normal("".join(texts))
        case [*items]:
            return [normal(item) for item in items]
        case str():
            return NUMBER.sub(r"\g<1>1", ADDRESS.sub("http://localhost:8088", value))
    return value


def outputs(notebook: dict[str, Any]) -> dict[str, Any]:
    """The outputs of each cell, by its source."""
    return {"".join(cell["source"]): normal(cell["outputs"]) for cell in notebook["cells"] if "outputs" in cell}


def written(executed: dict[str, Any]) -> str:
    """The notebook as the repository has it."""
    for cell in executed["cells"]:
        cell["metadata"] = {name: value for name, value in cell["metadata"].items() if name == "tags"}
        if "outputs" in cell:
            cell["outputs"] = [{**normal(output), **_verbatim(output)} for output in cell["outputs"]]
    metadata = {"kernelspec": executed["metadata"]["kernelspec"], "language_info": {"name": "python"}}
    return json.dumps({**executed, "metadata": metadata}, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _verbatim(output: dict[str, Any]) -> dict[str, Any]:
    """The members that the format requires as they are."""
    return {name: output[name] for name in ("execution_count", "traceback") if name in output}


def test_the_notebook_has_the_outputs_that_it_shows(python_program: Program, tmp_path: Path) -> None:
    printed = python_program("run_notebook.py", str(NOTEBOOK), str(tmp_path / "run.ipynb"))
    executed = read(tmp_path / "run.ipynb")
    if os.environ.get("REWRITE"):
        NOTEBOOK.write_text(written(executed), encoding="utf-8")
    shown = read(NOTEBOOK)
    assert outputs(executed) == outputs(shown)
    # The table of the push query was there before its rows, and then changed as they came.
    [live] = [cell["id"] for cell in shown["cells"] if is_live(cell)]
    assert printed["changes"][live] > 1


def is_live(cell: dict[str, Any]) -> bool:
    """True for the cell that shows rows as they come."""
    return "".join(cell["source"]).startswith("%%ksql --limit")
