"""The documentation's table is generated and tested by the same code."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
