"""Finds out which restrictions this machine's kernel supports, by a worker process that confines itself."""

import json
import subprocess

from millstream.udf.bundle import program
from millstream.udf.confinement import Confinement, ConfinementOptions

# How long a worker process may take to report its restrictions, in seconds.
PATIENCE = 30.0


def in_force(executable: str, options: ConfinementOptions) -> Confinement:
    """The restrictions of worker processes of that Python on this machine; takes some 100 ms."""
    try:
        probe = subprocess.run(
            [executable, "-s", "-P", "-c", program(options)],
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        return Confinement(**json.loads(probe.stdout))
    except (OSError, subprocess.TimeoutExpired) as error:
        return Confinement(refused=(f"no process starts: {error}",))
    except ValueError:
        last = probe.stderr.decode(errors="replace").strip().splitlines()[-1:]
        return Confinement(refused=(f"no process starts: {' '.join(last)}",))
