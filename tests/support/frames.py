"""Which tests need pandas, polars and pyarrow.

Spark loads pandas and pyarrow into every process where they are installed, so they are not: tests/client/test_apart.py
installs them for a process of its own, which runs these files.
"""

FILES = ["test_frames.py", "test_page.py", "test_sqlalchemy.py"]
