"""The catalog: the streams, tables, queries, types and functions of an engine, as frozen values."""
