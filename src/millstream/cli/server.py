"""`millstream server`: the engine and its REST API in front of an existing Kafka."""

import argparse
import importlib
import logging
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.cli.main import formatter
from millstream.cli.properties import (
    INSECURE,
    LISTENERS,
    PG_LISTEN,
    address_of,
    from_environment,
    read_properties,
    settings_of,
)
from millstream.engine.session_options import session_options
from millstream.model.settings import SettingRefused, checked, effective
from millstream.services.log_format import log_to_stderr
from millstream.spark.launcher import launch

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

ABOUT = """\
Runs the engine and its REST API against a Kafka that is there. Servers with one --service-id share their statements:
each comes back to the same streams, tables and running queries after a restart. Stop it with Ctrl-C or SIGTERM."""
EXAMPLES = """
examples:
  millstream server --bootstrap-servers kafka:9092
  millstream server --config-file ksql-server.properties --set ksql.service.id=orders_
"""
LOG = logging.getLogger("millstream")
LOG_FORMAT = "millstream.log.format"
FLAGS = {
    "bootstrap_servers": "bootstrap.servers",
    "service_id": "ksql.service.id",
    "data_dir": "millstream.data.dir",
    "schema_registry": "ksql.schema.registry.url",
    "master": "millstream.spark.master",
    "queries_file": "ksql.queries.file",
    "log_format": LOG_FORMAT,
    "pg_listen": PG_LISTEN,
}


def add(subparsers: "Subparsers") -> None:
    """Add the command and its options to the command line's parser."""
    parser = subparsers.add_parser("server", description=ABOUT, epilog=EXAMPLES, formatter_class=formatter)
    add_options(parser)
    parser.add_argument(
        "--log-format", choices=("text", "json"), help="json: a JSON object in each line, for log collectors"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="log more")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options that give a server its properties."""
    parser.add_argument("--bootstrap-servers", metavar="HOST:PORT,…", help="the Kafka brokers")
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        help="default 127.0.0.1:8088; https://… for TLS",
    )
    parser.add_argument(
        "--pg-listen", metavar="HOST:PORT", help="also serve Postgres's protocol at this address (default: off)"
    )
    parser.add_argument("--insecure", action="store_true", help="listen on a network without requiring a login")
    parser.add_argument("--service-id", metavar="ID", help="servers of one id share one catalog (default default_)")
    parser.add_argument("--data-dir", metavar="DIR", help="where checkpoints are: a path, or a Hadoop URL")
    parser.add_argument("--schema-registry", metavar="URL", help="the schema registry, for AVRO, PROTOBUF and JSON_SR")
    parser.add_argument("--master", metavar="URL", help="the Spark master (default: this process)")
    parser.add_argument(
        "--queries-file",
        metavar="FILE",
        help="run the statements of a file, and refuse clients' statements that change the catalog",
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="any property of the server")
    help = "take properties from variables as ksqlDB's Docker image does: KSQL_KSQL_SERVICE_ID is ksql.service.id"
    parser.add_argument("--environment", action="store_true", help=help)
    parser.add_argument("--config-file", type=Path, metavar="FILE", help="properties; the options above override them")


def run(args: argparse.Namespace) -> int:
    """Serve until stopped; returns 0. Raises SetupError if it cannot start."""
    server_properties = properties(args)
    is_json = server_properties.get(LOG_FORMAT) == "json"
    log_to_stderr(logging.DEBUG if args.verbose else logging.INFO, is_json)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    # httpx logs each request, and the servers of a service send each other heartbeats by it.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    report = LOG.info if is_json else _print
    report("starting …")
    _launch(server_properties)
    importlib.import_module("millstream.cli.service").serve(server_properties, report)
    return 0


def _launch(server_properties: dict[str, str]) -> None:
    """Begin to start Spark's JVM, so that it starts while the engine's modules are imported.

    Settings that are not valid are ignored here: the engine reads them again, and reports them.
    """
    with suppress(SettingRefused):
        settings = effective(checked(server_properties))
        if settings.get("bootstrap.servers"):
            launch(session_options(settings, {}))


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def properties(args: argparse.Namespace) -> dict[str, str]:
    """The server's properties: from the file, then the environment, then --set, then options. Raises SetupError."""
    flags = vars(args)
    options = {name: flags[flag] for flag, name in FLAGS.items() if flags.get(flag) is not None}
    if args.listen:
        host, port = address_of(args.listen)
        scheme = "https" if args.listen.lower().startswith("https://") else "http"
        options[LISTENERS] = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
    if args.insecure:
        options[INSECURE] = "true"
    file = read_properties(args.config_file) if args.config_file else {}
    environment = from_environment(os.environ) if args.environment else {}
    return {**file, **environment, **settings_of(args.set), **options}
