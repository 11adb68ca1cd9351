"""`millstream doctor`: checks that this machine, and the services that the settings name, are fit for a server."""

import argparse
from typing import TYPE_CHECKING

from millstream.cli import server
from millstream.cli.checks import CheckContext, CheckOutcome, CheckResult, run_checks
from millstream.cli.main import formatter
from millstream.model.settings import SettingRefused, checked, effective, without_effect
from millstream.services.errors import SetupError

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

ABOUT = """\
Looks at Python, Java, Spark, its cluster, the port, the login, the certificate, the audit, the place of checkpoints,
the free disk, the schema registry, Kafka Connect, the broker, and the clock against the broker's, and says of each
whether it is well, and what to do where it is not. It takes the options of `millstream server`. The exit code is 1
where something is not well."""
EXAMPLES = """
examples:
  millstream doctor --bootstrap-servers kafka:9092
  millstream doctor --config-file ksql-server.properties
"""


def add(subparsers: "Subparsers") -> None:
    """Add the command and its options to the command line's parser."""
    parser = subparsers.add_parser("doctor", description=ABOUT, epilog=EXAMPLES, formatter_class=formatter)
    server.add_options(parser)
    help = "how much disk must be free (default 2)"
    parser.add_argument("--free-gib", type=float, default=2.0, metavar="N", help=help)


def run(args: argparse.Namespace) -> int:
    """Run all checks and print their results; returns 1 if any check failed, else 0.

    Raises SetupError if a setting is not valid.
    """
    properties = server.properties(args)
    try:
        settings = effective(checked(properties))
    except SettingRefused as error:
        raise SetupError(str(error)) from error
    if unused := without_effect(properties):
        _print("settings", CheckResult(CheckOutcome.PASSED, f"without effect: {', '.join(unused)}"))
    outcomes = []
    for name, result in run_checks(CheckContext(settings, args.free_gib)):
        outcomes.append(result.outcome)
        _print(name, result)
    return 1 if CheckOutcome.FAILED in outcomes else 0


def _print(name: str, result: CheckResult) -> None:
    print(f"{result.outcome.value:12}  {name:12} {result.fact}", flush=True)
    if result.remedy:
        print(f"{'':28}→ {result.remedy}", flush=True)
