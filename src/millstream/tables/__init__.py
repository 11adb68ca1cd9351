"""Materialised tables: their topics are read into stores of bytes, in which pull queries look up rows by key."""
