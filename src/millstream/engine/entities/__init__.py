"""The JSON objects that statements are answered with (docs/reference/rest.md)."""
