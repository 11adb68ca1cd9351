"""The certificates of the authorities that httpx trusts by default, read once a process.

httpx reads them for each client that is opened, over HTTP too: 30 ms of a processor, in a thousand tests.
"""

import os
import ssl
from functools import cache
from typing import Any

import httpx._transports.default
from httpx import create_ssl_context


@cache
def _default_trust(*surroundings: Any) -> ssl.SSLContext:
    return create_ssl_context()


def _context(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
    if verify is not True or cert is not None or not trust_env:
        return create_ssl_context(verify, cert, trust_env)
    return _default_trust(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


def install() -> None:
    """Make httpx share the default context, by replacing the name under which it looks the function up."""
    httpx._transports.default.create_ssl_context = _context
