"""Versions of a server's sources and queries, as ksqlDB's ksql-migrations tool keeps them: docs/migrations.md."""
