"""Nexmark: its queries as statements of millstream and of Flink SQL, over the same topics, with results compared."""
