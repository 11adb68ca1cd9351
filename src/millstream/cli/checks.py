"""The checks of `millstream doctor`: each tests one aspect of the machine, or one service that the settings name."""

import os
import re
import shutil
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from importlib import metadata
from pathlib import Path
from uuid import uuid4

import httpx
from confluent_kafka import KafkaException, TopicPartition

from millstream.cli.exposure import check_exposure
from millstream.cli.properties import LISTENERS, PG_LISTEN, address_of
from millstream.engine.connect import URL as CONNECT_URL
from millstream.engine.connect import ConnectClient, ConnectFailed, connect_access
from millstream.engine.kafka import KafkaClient
from millstream.engine.session_options import data_folder
from millstream.engine.topic_access import RIGHTS
from millstream.formats.client import access
from millstream.formats.json_answers import OTHER_FORM
from millstream.model.secrets import without_user
from millstream.model.setting_table import SETTINGS
from millstream.model.settings import SettingRefused
from millstream.security.login import Login, login_of
from millstream.security.tls import KEYSTORE, server_certificate, server_context
from millstream.security.users import read_users
from millstream.services import java
from millstream.services.errors import SetupError
from millstream.services.folders import check_writable
from millstream.services.kafka_errors import is_denial, reason
from millstream.services.ports import is_free
from millstream.spark.session_settings import is_cluster

OLDEST_PYTHON = (3, 11)
BOOTSTRAP, DATA, SERVICE = "bootstrap.servers", "millstream.data.dir", "ksql.service.id"
MASTER = "millstream.spark.master"
GIB = 2**30
# The clock difference that is allowed, in seconds: timestamps of windows and leases are compared between machines.
TOLERANCE = 1.0
SECONDS = 5.0
# The days before its end from which on a certificate should be renewed.
RENEWAL_DAYS = 14
DAY = 24 * 3600


class CheckOutcome(Enum):
    """The outcome of a check; the value is its text in the output."""

    PASSED = "well"
    FAILED = "not well"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check: its outcome, what was found, and what to do about it ("" if nothing)."""

    outcome: CheckOutcome
    fact: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class CheckContext:
    """The input of the checks.

    `settings` are a server's settings including defaults, `free_gib` is the disk space it needs, `clock` returns the
    time in seconds since the epoch.
    """

    settings: Mapping[str, str]
    free_gib: float = 2.0
    clock: Callable[[], float] = time.time

    @property
    def folder(self) -> Path | None:
        """The local folder of the checkpoints; None if the data directory is a remote URL (HDFS, S3)."""
        return data_folder(self.settings)


def python(_: CheckContext) -> CheckResult:
    """Whether Python is new enough."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        return _failed(
            f"Python {version} at {sys.executable}", f"install Python {oldest} or later, and millstream in it"
        )
    return _passed(f"Python {version}")


def java_runtime(_: CheckContext) -> CheckResult:
    """Whether Java is installed, and new enough."""
    java.java.cache_clear()
    try:
        command = java.java()
    except SetupError as error:
        return _failed(error.fact, error.hint)
    return _passed(f"Java {java.version(command)} at {command}")


def spark(_: CheckContext) -> CheckResult:
    """Whether Spark has exactly the required version: millstream uses internals that differ between versions."""
    needed = next((m[1] for text in metadata.requires("millstream") or () if (m := _PYSPARK.match(text))), "")
    try:
        version = metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        return _failed("there is no Spark", f"pip install pyspark=={needed}")
    if needed and version != needed:
        return _failed(f"Spark {version}, and millstream requires {needed}", f"pip install pyspark=={needed}")
    return _passed(f"Spark {version}")


def spark_cluster(context: CheckContext) -> CheckResult:
    """Whether the master of a standalone Spark cluster can be reached, if one is named."""
    master = context.settings[MASTER]
    if not is_cluster(master):
        return _passed(f"none: queries run in the server ({MASTER})")
    addresses = standalone_masters(master)
    if not addresses:
        return CheckResult(CheckOutcome.NOT_CHECKED, f"{master} is reached only by Spark", "start a server to see")
    for host, number in addresses:
        try:
            socket.create_connection((host, number), SECONDS).close()
        except OSError as error:
            failure = f"no Spark master answers at {host}:{number}: {error.strerror or error}"
        else:
            return _passed(f"a Spark master listens at {host}:{number}")
    return _failed(failure, f"see that it runs there, and that {MASTER} is its address seen from here")


def standalone_masters(master: str) -> list[tuple[str, int]]:
    """The addresses in `spark://HOST:PORT,HOST:PORT`; none in what does not name a standalone cluster so.

    >>> standalone_masters("spark://one:7077,two:7078")
    [('one', 7077), ('two', 7078)]
    """
    hosts = master.removeprefix("spark://").split(",") if master.startswith("spark://") else []
    parts = [host.rpartition(":") for host in hosts]
    return [(host, int(number)) for host, _, number in parts if host and number.isdecimal()]


_PYSPARK = re.compile(r"pyspark\s*\(?==([\w.]+)")


def broker(context: CheckContext) -> CheckResult:
    """Whether the Kafka cluster responds."""
    bootstrap = context.settings[BOOTSTRAP]
    if not bootstrap:
        return _failed("no broker is named", f"--bootstrap-servers HOST:9092, or set {BOOTSTRAP}")
    try:
        cluster = KafkaClient(context.settings).cluster()
    except SettingRefused as refused:
        return _failed(*refused.fact_and_hint)
    except KafkaException as error:
        return _failed(
            f"no broker answers at {bootstrap}: {reason(error)}",
            f"see that Kafka runs there, that {BOOTSTRAP} is its address seen from here, and ssl.…, sasl.… are its",
        )
    return _passed(f"cluster {cluster} at {bootstrap}")


def registry(context: CheckContext) -> CheckResult:
    """Whether the schema registry responds, if one is configured."""
    registry_access = access(context.settings)
    if registry_access is None:
        return _passed("none: AVRO, PROTOBUF and JSON_SR need one (ksql.schema.registry.url)")
    remedy = "see that it runs there, and ksql.schema.registry.url and .basic.auth.user.info are its"
    try:
        with registry_access.client() as client:
            failures = [_registry_failure(client, url) for url in registry_access.urls]
    except SetupError as error:
        return _failed(error.fact, error.hint)
    if failure := next(filter(None, failures), None):
        return _failed(failure, remedy)
    return _passed(f"schema registry at {without_user(registry_access.url)}")


def _registry_failure(client: httpx.Client, url: str) -> str:
    """Why a server of the schema registry does not answer as one; "" if it does."""
    try:
        answer = client.get(f"{url}/subjects", timeout=SECONDS)
    except (httpx.HTTPError, OSError, UnicodeError) as error:
        return f"no schema registry answers at {without_user(url)}: {error or type(error).__name__}"
    if not answer.is_success:
        return f"the schema registry at {without_user(url)} answers {answer.status_code}"
    try:
        is_registry = isinstance(answer.json(), list)
    except OTHER_FORM:
        is_registry = False
    return "" if is_registry else f"the server at {without_user(url)} is not a schema registry"


def connect(context: CheckContext) -> CheckResult:
    """Whether Kafka Connect responds, if one is configured: at ksqlDB's default address there need not be one."""
    worker = connect_access(context.settings)
    if worker is None:
        return _passed(f"none: connectors need one ({CONNECT_URL})")
    try:
        with closing(ConnectClient(worker)) as client:
            version = client.version()
    except SetupError as error:
        return _failed(error.fact, error.hint)
    except ConnectFailed as error:
        if not error.status and worker.url == SETTINGS[CONNECT_URL].default:
            return _passed(f"none at {worker.url}: connectors need one ({CONNECT_URL})")
        remedy = f"see that it runs there, and that {CONNECT_URL} and ksql.connect.basic.auth.… are its"
        return _failed(error.fact, remedy)
    return _passed(f"Kafka Connect {version} at {worker.shown}")


def checkpoints(context: CheckContext) -> CheckResult:
    """Whether files in the checkpoint folder can be written and renamed."""
    folder = context.folder
    if folder is None:
        return CheckResult(
            CheckOutcome.NOT_CHECKED, f"{context.settings[DATA]} is reached only by Spark", "start a server to see"
        )
    try:
        check_writable(folder, f"set {DATA}")
    except SetupError as refused:
        return _failed(refused.fact, refused.hint)
    return _passed(f"{folder} can be written to")


def disk(context: CheckContext) -> CheckResult:
    """Whether there is enough free disk space for checkpoints and for Spark's temporary files."""
    folders = [f for f in (context.folder, Path(os.environ.get("TMPDIR", "/tmp"))) if f is not None]
    try:
        free = {folder: shutil.disk_usage(_existing(folder)).free / GIB for folder in folders}
    except OSError as error:
        return _failed(f"the free space of {error.filename} cannot be read: {error.strerror}", f"set {DATA}")
    least = min(free, key=lambda folder: free[folder])
    if free[least] < context.free_gib:
        return _failed(
            f"{free[least]:.1f} GiB are free at {least}, less than {context.free_gib:g}",
            f"make room there, or set {DATA} or TMPDIR to a larger disk",
        )
    return _passed(", ".join(f"{size:.0f} GiB free at {folder}" for folder, size in free.items()))


def clock(context: CheckContext) -> CheckResult:
    """Whether this machine's clock agrees with the broker's, which timestamps a record in a temporary topic."""
    if not context.settings[BOOTSTRAP]:
        return CheckResult(CheckOutcome.NOT_CHECKED, "no broker to compare clocks with")
    try:
        before, stamped, after = _stamped(KafkaClient(context.settings), context)
    except SettingRefused:
        return CheckResult(CheckOutcome.NOT_CHECKED, "a setting of Kafka's clients is wrong", "see the broker's line")
    except KafkaException as error:
        if is_denial(error):
            return _failed(f"Kafka denies: {reason(error)}", RIGHTS)
        return CheckResult(
            CheckOutcome.NOT_CHECKED, f"no topic to compare clocks with: {reason(error)}", "see the broker's line first"
        )
    ahead = max(before - stamped, 0.0) - max(stamped - after, 0.0)
    if abs(ahead) > TOLERANCE:
        direction = "ahead of" if ahead > 0 else "behind"
        return _failed(
            f"this clock is {abs(ahead):.1f} s {direction} the broker's",
            "let both follow a time server (chrony, systemd-timesyncd)",
        )
    return _passed(f"this clock agrees with the broker's within {max(abs(ahead), after - before):.1f} s")


def _stamped(kafka: KafkaClient, context: CheckContext) -> tuple[float, float, float]:
    """Three times in epoch seconds: ours before a write, the broker's of the append, ours after the acknowledgement.

    Raises KafkaException.
    """
    topic = f"_millstream-{context.settings[SERVICE]}-doctor-{uuid4().hex[:8]}"
    kafka.create(topic, 1, config={"message.timestamp.type": "LogAppendTime"})
    try:
        # The first record opens the connection, so that only the second one is timed.
        kafka.writer.write(topic, None, b"")
        before = context.clock()
        offset = kafka.writer.write(topic, None, b"")
        after = context.clock()
        with kafka.reader() as reader:
            reader.assign([TopicPartition(topic, 0, offset)])
            (message,) = reader.consume(1, 30.0)
            return before, message.timestamp()[1] / 1000, after
    finally:
        kafka.delete(topic)


def port(context: CheckContext) -> CheckResult:
    """Whether the server's ports are free, or a millstream server listens there already."""
    try:
        host, number = address_of(context.settings[LISTENERS])
        if number and not is_free(host, number):
            return _busy(host, number)
        free = f"{host}:{number} is free"
        if not context.settings[PG_LISTEN]:
            return _passed(free)
        pg_host, pg_number = address_of(context.settings[PG_LISTEN])
        if pg_number and not is_free(pg_host, pg_number):
            return _in_use(f"{pg_number}, for Postgres's clients,", pg_number, f"set {PG_LISTEN} to another one")
        return _passed(f"{free}, and {pg_host}:{pg_number} for Postgres's clients")
    except SetupError as error:
        return _failed(error.fact, error.hint or f"set {LISTENERS}")


def _busy(host: str, number: int) -> CheckResult:
    """What listens at the server's address already."""
    if _is_server(host, number):
        return _passed(f"a server answers at {host}:{number}")
    return _in_use(str(number), number, "--listen chooses another port")


def _in_use(port: str, number: int, remedy: str) -> CheckResult:
    return _failed(f"port {port} is in use by something else", f"`lsof -i :{number}` names it; {remedy}")


def login(context: CheckContext) -> CheckResult:
    """Whether the server may listen without a login, or who can log in."""
    settings = context.settings
    try:
        login = login_of(settings)
        for listener in filter(None, (settings[LISTENERS], settings[PG_LISTEN])):
            check_exposure(address_of(listener)[0], settings, login is not None)
    except SetupError as refused:
        return _failed(refused.fact, refused.hint or "docs/security.md has what it may be")
    if login is None:
        return _passed("none is required (authentication.method)")
    if login.users is None:
        return _passed("tokens are accepted")
    return _users(login, Path(settings["millstream.users.file"]))


def _users(login: Login, file: Path) -> CheckResult:
    """Whether the file of users has users who can do something."""
    users = read_users(file)
    if not users:
        return _failed(f"{file} has no user", "`millstream users add NAME --role ROLE` adds one")
    named = {role: user.name for user in users.values() for role in user.roles}
    for role, name in named.items():
        if role not in login.roles:
            remedy = f"there are {', '.join(login.roles)}; millstream.roles.file names a file of others"
            return _failed(f"{file}: user {name} has the role {role}, which does not exist", remedy)
    if "*" not in login.allowed and not login.allowed & named.keys():
        roles = ", ".join(sorted(login.allowed))
        return _failed(f"no user has a role that authentication.roles requires: {roles}", "give it to one")
    counts = Counter(role for user in users.values() for role in user.roles)
    return _passed(f"{len(users)} in {file}: " + ", ".join(f"{n} {role}" for role, n in counts.items()))


def certificate(context: CheckContext) -> CheckResult:
    """Whether the server's certificate and key can be used, and are valid for some time."""
    settings, keystore = context.settings, context.settings.get(KEYSTORE)
    if not keystore and not settings[LISTENERS].lower().startswith("https://"):
        return _passed("none: the server listens without TLS (http://)")
    try:
        server_context(settings)
        certificate = server_certificate(settings)
    except (SetupError, ValueError, OSError) as refused:
        return _failed(getattr(refused, "fact", str(refused)), getattr(refused, "hint", f"see {KEYSTORE}"))
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    now, renew = datetime.fromtimestamp(context.clock(), UTC), f"renew it in {keystore}: a server that runs takes it"
    if now < begin:
        return _failed(
            f"the certificate in {keystore} is valid from {begin:%Y-%m-%d %H:%M} UTC on", "wait, or renew it"
        )
    days = (end - now).total_seconds() / DAY
    if days < RENEWAL_DAYS:
        verb = "has expired" if days < 0 else "expires"
        return _failed(f"the certificate in {keystore} {verb} on {end:%Y-%m-%d %H:%M} UTC", renew)
    return _passed(f"{keystore} is valid until {end:%Y-%m-%d}")


def audit(context: CheckContext) -> CheckResult:
    """Whether the audit's file can be written; it is not created."""
    name, topic = context.settings["millstream.audit.file"], context.settings["millstream.audit.topic"]
    if not name:
        return _passed(f"topic {topic}" if topic else "none (millstream.audit.file, millstream.audit.topic)")
    file, remedy = Path(name), "set millstream.audit.file to one that the server's user can write"
    try:
        if file.exists():
            os.close(os.open(file, os.O_WRONLY | os.O_APPEND))
        else:
            check_writable(_existing(file.absolute().parent), remedy)
    except OSError as error:
        return _failed(f"{file} cannot be written: {error.strerror}", remedy)
    except SetupError as refused:
        return _failed(refused.fact, refused.hint)
    return _passed(f"file {file}" + (f", topic {topic}" if topic else ""))


def _is_server(host: str, number: int) -> bool:
    address = f"[{host}]" if ":" in host else host
    for scheme in ("http", "https"):
        try:
            answer = httpx.get(f"{scheme}://{address}:{number}/info", timeout=SECONDS, verify=False)
        except httpx.HTTPError:
            continue
        return "KsqlServerInfo" in answer.text or answer.status_code == httpx.codes.UNAUTHORIZED
    return False


def _existing(folder: Path) -> Path:
    """The folder, or its nearest ancestor that exists."""
    return folder if folder.exists() else _existing(folder.absolute().parent)


def _passed(fact: str) -> CheckResult:
    return CheckResult(CheckOutcome.PASSED, fact)


def _failed(fact: str, remedy: str) -> CheckResult:
    return CheckResult(CheckOutcome.FAILED, fact, remedy)


# In this order, because later checks may depend on what earlier ones test.
CHECKS: tuple[tuple[str, Callable[[CheckContext], CheckResult]], ...] = (
    ("Python", python),
    ("Java", java_runtime),
    ("Spark", spark),
    ("cluster", spark_cluster),
    ("port", port),
    ("login", login),
    ("certificate", certificate),
    ("audit", audit),
    ("checkpoints", checkpoints),
    ("disk", disk),
    ("registry", registry),
    ("connect", connect),
    ("broker", broker),
    ("clock", clock),
)


def run_checks(context: CheckContext) -> Iterator[tuple[str, CheckResult]]:
    """Run the checks one by one; yields each check's name and result when it is done."""
    for name, check in CHECKS:
        yield name, check(context)
