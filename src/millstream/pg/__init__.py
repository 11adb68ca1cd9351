"""Postgres's wire protocol (version 3) in front of the engine."""
