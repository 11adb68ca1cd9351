"""How long tests wait for what must happen."""

# Seconds; long, because other processes may use the machine too.
PATIENCE = 240.0
