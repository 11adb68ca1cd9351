"""Spark: lowers plans to Spark SQL and to stateful operators, and runs queries."""
