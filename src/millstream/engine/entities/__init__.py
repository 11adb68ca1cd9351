"""The JSON objects that statements are answered with (features.md §15.1)."""
