"""millstream."""
