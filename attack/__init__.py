"""Hostile requests against a server: `make attack`, docs/security.md#attack."""
