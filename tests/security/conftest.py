"""The table of the documentation is made, and tried, by the same code."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
