"""The options by which a command reaches a server that requires a login or TLS."""

import argparse
import getpass
import sys
from collections.abc import Mapping
from pathlib import Path

from millstream.cli.client import ClientError, ClientTls, RestClient

URL = "http://localhost:8088"


def add_url(parser: argparse.ArgumentParser) -> None:
    """Declare the URL of the server."""
    parser.add_argument("url", nargs="?", default=URL, metavar="URL", help=f"the server (default {URL})")


def add_login(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the user and of TLS."""
    who = parser.add_argument_group("who")
    who.add_argument("-u", "--user", help="user name, if the server requires one")
    who.add_argument("-p", "--password", help="password (it is prompted for if only the name is given)")
    who.add_argument("-t", "--token", help="bearer token, if the server requires one")
    who.add_argument("--cacert", type=Path, metavar="FILE", help="the authority of an https server, as PEM")
    who.add_argument("--cert", type=Path, metavar="FILE", help="your own certificate and key, as PEM")


def rest_client(args: argparse.Namespace, tls: Mapping[str, str]) -> RestClient:
    """The client of the server that the options name; `tls` has ssl.… settings beside them. Raises ClientError."""
    return RestClient(args.url, _login(args), ClientTls(args.cacert, args.cert, tls), args.token)


def _login(args: argparse.Namespace) -> tuple[str, str] | None:
    """The user's name and password; None if there is no name. Raises ClientError if one of them is missing."""
    if not args.user:
        if args.password is not None:
            raise ClientError("a password is given, and no user", "name the user with -u")
        return None
    if args.password:
        return args.user, args.password
    if not sys.stdin.isatty():
        raise ClientError(f"there is no terminal to prompt for the password of {args.user}", "give it with -p")
    return args.user, getpass.getpass(f"password of {args.user}: ")
