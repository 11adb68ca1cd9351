"""`millstream users`: the file of users that a server with authentication.method=BASIC reads."""

import argparse
import getpass
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.cli.main import formatter
from millstream.model.setting_table import SETTINGS
from millstream.security.roles import read_roles
from millstream.security.users import add_user, read_users, remove_user
from millstream.services.errors import SetupError

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

ABOUT = """\
Keeps the users of a server: names, roles, and hashes of passwords. A server that runs sees changes at once. The roles
are read, write, functions and admin, and those of a file of roles (docs/security.md)."""
EXAMPLES = """
examples:
  millstream users add alice --role read --role functions
  millstream users add grafana --role read --scram
  millstream users add loader --role write --password-stdin < password.txt
  millstream users list
  millstream users remove alice
"""
DEFAULT = SETTINGS["millstream.users.file"].default


def add(subparsers: "Subparsers") -> None:
    """Add the command, its verbs and their options to the command line's parser."""
    parser = subparsers.add_parser("users", description=ABOUT, epilog=EXAMPLES, formatter_class=formatter)
    parser.add_argument("--users-file", type=Path, default=Path(DEFAULT), metavar="FILE", help=f"default {DEFAULT}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="add|list|remove")
    adding = verbs.add_parser("add", help="add a user, or change a user's password and roles")
    adding.add_argument("name")
    adding.add_argument("--role", action="append", required=True, metavar="ROLE", help="may be repeated")
    adding.add_argument("--roles-file", type=Path, metavar="FILE", help="roles of your own (millstream.roles.file)")
    adding.add_argument(
        "--scram", action="store_true", help="store a SCRAM verifier too, for Postgres clients without TLS"
    )
    adding.add_argument("--password-stdin", action="store_true", help="the first line of standard input")
    verbs.add_parser("list", help="names and roles")
    removing = verbs.add_parser("remove", help="remove a user")
    removing.add_argument("name")
    for verb in verbs.choices.values():
        # Also behind the verb, where one looks for it first.
        verb.add_argument(
            "--users-file", type=Path, default=argparse.SUPPRESS, metavar="FILE", help=f"default {DEFAULT}"
        )


def run(args: argparse.Namespace) -> int:
    """Change or show the file; returns 0. Raises SetupError."""
    path: Path = args.users_file
    if args.verb == "add":
        roles = read_roles(args.roles_file)
        unknown = [role for role in args.role if role not in roles]
        if unknown:
            raise SetupError(f"there is no role {unknown[0]}", f"there are {', '.join(roles)}")
        replaced = add_user(path, args.name, tuple(dict.fromkeys(args.role)), _password(args), args.scram)
        print(f"{'changed' if replaced else 'added'} {args.name} in {path}")
    elif args.verb == "remove":
        remove_user(path, args.name)
        print(f"removed {args.name} from {path}")
    else:
        for user in read_users(path).values():
            print(f"{user.name:24}{', '.join(user.roles)}")
    return 0


def _password(args: argparse.Namespace) -> str:
    if args.password_stdin:
        return sys.stdin.readline().rstrip("\n")
    try:
        with warnings.catch_warnings():
            # Without a terminal Python would warn, and read the password from standard input.
            warnings.simplefilter("error", getpass.GetPassWarning)
            password, again = getpass.getpass(f"password of {args.name}: "), getpass.getpass("again: ")
    except (EOFError, getpass.GetPassWarning) as error:
        raise SetupError("there is no terminal to prompt for the password", "give it with --password-stdin") from error
    if password != again:
        raise SetupError("the two passwords are not the same")
    return password
