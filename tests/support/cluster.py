"""The processes of a Spark cluster on this machine."""

import subprocess

from millstream.services.cluster import SparkCluster


def executors(cluster: SparkCluster) -> list[int]:
    """The processes of the executors that the workers run now."""
    groups = {worker.group for worker in cluster.workers}
    processes = subprocess.run(["ps", "-ewwo", "pid=,pgid=,args="], capture_output=True, text=True, check=True).stdout
    lines = [line.split(None, 2) for line in processes.splitlines() if "CoarseGrainedExecutorBackend" in line]
    return [int(pid) for pid, group, _ in lines if int(group) in groups]
