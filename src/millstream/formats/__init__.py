"""The formats of keys and values: their rules, and the translation between columns and schemas."""
