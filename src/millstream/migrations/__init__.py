"""Versioned migrations of sources and queries, compatible with ksqlDB's ksql-migrations (docs/migrations.md)."""
