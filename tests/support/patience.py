"""How long tests wait for what must happen."""

# Seconds; a machine that many share does things in its own time.
PATIENCE = 240.0
