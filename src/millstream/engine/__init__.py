"""The engine: executes statements, replays the command log, and supervises queries."""
