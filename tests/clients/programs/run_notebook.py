"""Runs a notebook by nbclient: URL NOTEBOOK TARGET → the notebook with its outputs, and how often a display changed."""

import json
import os
import sys
from collections import Counter
from typing import Any

import nbformat
from nbclient import NotebookClient

import millstream

url, notebook, target = sys.argv[1:]
os.environ["MILLSTREAM_URL"] = url
changes: Counter[int] = Counter()


class CountingClient(NotebookClient):
    """Counts the messages by which a cell replaces what a display shows."""

    def process_message(self, msg: dict[str, Any], cell: Any, cell_index: int) -> Any:
        changes[cell_index] += msg["msg_type"] == "update_display_data"
        return super().process_message(msg, cell, cell_index)


# The sources of an earlier run that failed.
connection = millstream.connect(url)
connection.execute("DROP TABLE IF EXISTS notebook_rooms DELETE TOPIC;")
connection.execute("DROP STREAM IF EXISTS notebook_readings DELETE TOPIC;")
content = nbformat.read(notebook, as_version=4)
CountingClient(content, timeout=300, record_timing=False).execute()
nbformat.write(content, target)
print(json.dumps({"changes": {content.cells[index].id: count for index, count in changes.items() if count}}))
