"""The faults that a storm injects. A fault returns when it is over and what it took away has been restored.

It does not check that the queries have recovered; storm.py checks their output.
"""

import contextlib
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

import httpx
from confluent_kafka.admin import NewPartitions

from chaos.shapes import REPLACEMENTS
from chaos.world import World
from support.cluster import executors
from support.kafka import wait_for
from support.server_process import ServerProcess

MOST_PARTITIONS = 8
Act = Callable[[World, random.Random], None]


class Need(Enum):
    """A prerequisite of a fault, which not every storm has."""

    NOTHING = "nothing"
    CLUSTER = "a Spark cluster"
    DISK = "a disk of its own"
    CLOCK = "libfaketime"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault: its title in the report, the function that injects it, its relative frequency, and its prerequisite."""

    title: str
    act: Act
    weight: int = 1
    needs: Need = Need.NOTHING


def crash(world: World, _: random.Random) -> None:
    """The server is killed (SIGKILL) and restarted."""
    server = world.server()
    server.kill()
    server.start()


def crash_twice(world: World, chance: random.Random) -> None:
    """The server is killed and restarted, and again 0 to 6 s later, possibly before a batch has ended."""
    crash(world, chance)
    time.sleep(chance.uniform(0, 6))
    crash(world, chance)


def crash_jvm(world: World, _: random.Random) -> None:
    """Spark's JVM is killed. The server must exit by itself with an error; it is then restarted."""
    server = world.server()
    for pid in server.java():
        os.kill(pid, signal.SIGKILL)
    code = server.exit_code(world.patience)
    assert code != 0, "a server whose JVM is dead ends with 0"
    server.start()


def stop(world: World, _: random.Random) -> None:
    """The server gets SIGTERM, must exit with 0, and is restarted."""
    server = world.server()
    code = server.stop()
    assert code == 0, f"a server that is asked to end ends with {code}"
    server.start()


def freeze(world: World, chance: random.Random) -> None:
    """The server is stopped (SIGSTOP) for longer than its lease lasts, and resumed."""
    server = world.server()
    server.signal(signal.SIGSTOP)
    time.sleep(chance.uniform(8, 20))
    server.signal(signal.SIGCONT)


def take_over(world: World, chance: random.Random) -> None:
    """A second server is started, the first is stopped until the second leads and then resumed; the second exits."""
    _freeze_leader(world, chance).stop()


def take_over_crash(world: World, chance: random.Random) -> None:
    """The same, but the second is killed, so that the first begins with what the second has saved."""
    _freeze_leader(world, chance).kill()


def _freeze_leader(world: World, chance: random.Random) -> ServerProcess:
    """Start a second server, and freeze the first one until the second leads, which is returned."""
    first, second = world.server(), world.start_second()
    first.signal(signal.SIGSTOP)
    time.sleep(chance.uniform(12, 25))
    first.signal(signal.SIGCONT)
    time.sleep(chance.uniform(0, 5))
    return second


def fail_over(world: World, chance: random.Random) -> None:
    """A second server is started and the first is killed; the second takes over for the following rounds."""
    first, _ = world.server(), world.start_second()
    time.sleep(chance.uniform(0, 5))
    first.kill()


def pause(world: World, chance: random.Random) -> None:
    """Every query is paused and resumed."""
    ids = list(world.queries())
    world.server().ksql("".join(f"PAUSE {id};" for id in ids))
    time.sleep(chance.uniform(0, 2))
    world.server().ksql("".join(f"RESUME {id};" for id in ids))


def replace(world: World, chance: random.Random) -> None:
    """A filter and a count are replaced (CREATE OR REPLACE) by equivalent queries."""
    for statement in REPLACEMENTS:
        world.server().ksql(statement.format(chance.randrange(1, 1_000_000)))
        time.sleep(chance.uniform(0, 2))


def set_tasks(world: World, chance: random.Random) -> None:
    """The state of a count and of a stream-stream join is repartitioned to a random number of tasks."""
    for sink in ("TOTAL", "PAIRS"):
        (id,) = (id for id in world.queries() if id.split("_", 1)[1].startswith(f"{sink}_"))
        world.server().ksql(f"ALTER QUERY {id} SET TASKS {chance.randint(1, 4)};")


def crash_set_tasks(world: World, chance: random.Random) -> None:
    """The server is killed during such a repartitioning, and restarted."""
    server = world.server()
    killer = threading.Timer(chance.uniform(0.2, 6), server.kill)
    killer.start()
    with contextlib.suppress(AssertionError, httpx.TransportError):
        set_tasks(world, chance)
    killer.join()
    server.start()


def crash_broker(world: World, chance: random.Random) -> None:
    """The broker is killed, and restarted after 0 to 15 s."""
    world.kill_broker()
    time.sleep(chance.uniform(0, 15))
    world.broker.start()


def outage(world: World, chance: random.Random) -> None:
    """The broker is down for a minute. The server must keep running, and no accepted statement may be lost."""
    server, accepted = world.server(), list[str]()

    def declare(moment: str) -> None:
        name = f"OUTAGE_{moment}_{chance.randrange(10**9)}"
        with contextlib.suppress(AssertionError, httpx.TransportError):
            server.ksql(f"CREATE STREAM {name} (v INT) WITH (kafka_topic='LEFT', format='JSON');")
            accepted.append(name)

    declare("BEFORE")
    world.kill_broker()
    during = threading.Timer(chance.uniform(0, 55), declare, ["DURING"])
    during.start()
    time.sleep(60)
    world.broker.start()
    during.join()
    assert server.running, "the server did not outlive the broker's absence"
    wait_for(lambda: "OUTAGE_AFTER" in "".join(accepted) or declare("AFTER"), "a statement", world.patience)
    (listed,) = server.ksql("SHOW STREAMS;")
    lost = set(accepted) - {stream["name"] for stream in listed["streams"]}
    assert not lost, f"statements that were accepted and are gone: {lost}"
    server.ksql("".join(f"DROP STREAM {name};" for name in accepted))


def freeze_broker(world: World, chance: random.Random) -> None:
    """The broker is stopped (SIGSTOP) for 3 to 15 s."""
    world.broker.signal(signal.SIGSTOP)
    time.sleep(chance.uniform(3, 15))
    world.broker.signal(signal.SIGCONT)


def crash_executor(world: World, chance: random.Random) -> None:
    """One of the cluster's executors is killed."""
    os.kill(_executor(world, chance), signal.SIGKILL)


def freeze_executor(world: World, chance: random.Random) -> None:
    """One of the cluster's executors is stopped (SIGSTOP) for longer than the lease lasts."""
    pid = _executor(world, chance)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(chance.uniform(8, 20))
    os.kill(pid, signal.SIGCONT)


def crash_worker(world: World, chance: random.Random) -> None:
    """One of the cluster's workers and its executor are killed; another worker is started after 0 to 15 s."""
    assert world.cluster is not None
    worker = chance.choice(world.cluster.workers)
    os.killpg(worker.group, signal.SIGKILL)
    time.sleep(chance.uniform(0, 15))
    worker.start()


def _executor(world: World, chance: random.Random) -> int:
    """The process id of a random executor; waits until there is one."""
    assert world.cluster is not None
    cluster = world.cluster
    wait_for(lambda: executors(cluster), "an executor", world.patience)
    return chance.choice(executors(cluster))


def crash_registry(world: World, chance: random.Random) -> None:
    """The schema registry is killed, the server is killed and restarted meanwhile, then the registry is restarted."""
    world.registry.kill()
    server = world.server()
    server.kill()
    server.start()
    time.sleep(chance.uniform(0, 15))
    world.registry.start()


def freeze_registry(world: World, chance: random.Random) -> None:
    """The schema registry is stopped (SIGSTOP) for some seconds, in which every query is paused and resumed."""
    world.registry.signal(signal.SIGSTOP)
    pause(world, chance)
    time.sleep(chance.uniform(3, 15))
    world.registry.signal(signal.SIGCONT)


def fill_disk(world: World, chance: random.Random) -> None:
    """The checkpoints' disk is full for 5 to 25 s; space that is freed meanwhile is filled at once."""
    ballast = world.data / "ballast"
    until = time.monotonic() + chance.uniform(5, 25)
    with open(ballast, "wb") as file:
        while time.monotonic() < until:
            disk = os.statvfs(world.data)
            room = disk.f_bavail * disk.f_frsize
            # Other processes write too, so there may be less room than statvfs reported.
            with contextlib.suppress(OSError):
                os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), max(1, room))
            time.sleep(0.01)
    ballast.unlink()


def set_clock(world: World, chance: random.Random) -> None:
    """The servers' clock is set an hour forward or back, and corrected after 5 to 25 s."""
    world.set_clock(chance.choice([-3600, 3600]))
    time.sleep(chance.uniform(5, 25))
    world.set_clock(0)


def add_partition(world: World, _: random.Random) -> None:
    """A partition is added to an input topic, so that keys move to other partitions."""
    count = world.kafka.topics()["LEFT"]
    if count < MOST_PARTITIONS:
        admin = world.kafka.admin
        admin.create_partitions([NewPartitions("LEFT", count + 1)])["LEFT"].result()


def remake_topic(world: World, _: random.Random) -> None:
    """The input topic of an additional query is deleted and created again: only that query may fail."""
    kafka, server = world.kafka, world.server()
    topic = kafka.create_topic(kafka.unique("gone"))
    stream, copy = (topic.replace("-", "_").upper() + end for end in ("", "_COPY"))
    server.ksql(f"CREATE STREAM {stream} (k STRING KEY, v INT) WITH (kafka_topic='{topic}', format='JSON');")
    server.ksql(f"CREATE STREAM {copy} AS SELECT * FROM {stream} EMIT CHANGES;")
    kafka.produce(topic, '"a"', {"V": 1})
    wait_for(lambda: kafka.ends(copy) == 1, "the row of the topic that was", world.patience)
    kafka.recreate_topic(topic, timeout=world.patience)
    (id,) = (id for id in world.queries() if copy in id)
    wait_for(lambda: world.queries()[id] == "ERROR", "the query's failure", world.patience)
    server.ksql(f"TERMINATE {id}; DROP STREAM {copy}; DROP STREAM {stream};")


FAULTS: Mapping[str, Fault] = {
    "crash": Fault("kill -9 of the server", crash, 3),
    "crash-twice": Fault("kill -9 of the server, and again within 6 s of its return", crash_twice, 2),
    "crash-jvm": Fault("kill -9 of Spark's JVM", crash_jvm),
    "stop": Fault("SIGTERM of the server", stop, 2),
    "freeze": Fault("the server frozen for 8 to 20 s", freeze),
    "take-over": Fault("the leader of two frozen for 12 to 25 s", take_over, 2),
    "take-over-crash": Fault(
        "the leader of two frozen for 12 to 25 s, kill -9 of the other within 5 s after it", take_over_crash
    ),
    "hand-over": Fault("kill -9 of the leader of two", fail_over, 2),
    "pause": Fault("PAUSE and RESUME of every query", pause, 2),
    "replace": Fault("CREATE OR REPLACE of a filter and of a count", replace, 2),
    "set-tasks": Fault("ALTER QUERY SET TASKS of a count and of a join", set_tasks),
    "crash-set-tasks": Fault("the same, and kill -9 of the server within 6 s", crash_set_tasks),
    "crash-broker": Fault("kill -9 of the broker, up to 15 s away", crash_broker, 2),
    "outage": Fault("the broker away for 60 s", outage),
    "freeze-broker": Fault("the broker frozen for 3 to 15 s", freeze_broker),
    "crash-executor": Fault("kill -9 of an executor", crash_executor, 3, needs=Need.CLUSTER),
    "freeze-executor": Fault("an executor frozen for 8 to 20 s", freeze_executor, needs=Need.CLUSTER),
    "crash-worker": Fault(
        "a worker with its executor killed, another after up to 15 s", crash_worker, needs=Need.CLUSTER
    ),
    "crash-registry": Fault("kill -9 of registry and server, the registry up to 15 s longer away", crash_registry),
    "freeze-registry": Fault("the registry frozen for 3 to 15 s, every query paused and resumed", freeze_registry),
    "fill-disk": Fault("the checkpoints' disk full for 5 to 25 s", fill_disk, needs=Need.DISK),
    "set-clock": Fault(
        "the clock of the server's JVM set an hour forward or back for 5 to 25 s", set_clock, needs=Need.CLOCK
    ),
    "add-partition": Fault("a partition added to an input", add_partition),
    "remake-topic": Fault("another query's topic deleted and created again", remake_topic),
}
