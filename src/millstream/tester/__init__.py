"""The test runner: plays conformance cases and SQL test files, bounded or against a live server."""
