"""A hook of MkDocs: a notebook in docs/ is a page of the site, with the outputs that the file has.

mkdocs-jupyter does it too, with nbconvert and scripts from other hosts; the site loads nothing from other hosts.
"""

import json
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

FENCE = "````"


class NotebookFile(File):
    """A notebook that MkDocs takes for a page in Markdown."""

    def is_documentation_page(self) -> bool:
        """MkDocs asks this to decide the page's path, and whether it is in the navigation."""
        return True

    @property
    def content_string(self) -> str:
        """The page in Markdown."""
        notebook = json.loads(super().content_string)
        return "\n\n".join(part for cell in notebook["cells"] for part in _cell(cell)) + "\n"

    @content_string.setter
    def content_string(self, value: str) -> None:
        raise AttributeError("a notebook's page is made from its file")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replace the notebooks by pages."""
    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            files.remove(file)
            files.append(NotebookFile(file.src_uri, config.docs_dir, config.site_dir, config.use_directory_urls))
    return files


def _cell(cell: dict[str, Any]) -> list[str]:
    """A cell's parts in Markdown: its text or code, and its outputs."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    language = "sql" if source.startswith("%%ksql") else "python"
    return [f"{FENCE}{language}\n{source}\n{FENCE}", *map(_output, cell["outputs"])]


def _output(output: dict[str, Any]) -> str:
    """An output: a table of HTML as it is, anything else as text."""
    data = output.get("data", {})
    if "text/html" in data:
        return f'<div class="notebook-output">\n{"".join(data["text/html"])}\n</div>'
    text = data.get("text/plain") or output.get("text") or output.get("traceback") or ""
    return f"{FENCE}text\n{''.join(text).rstrip()}\n{FENCE}"
