"""An endpoint that gives tokens to a client by its id and secret (OAuth 2.0, client credentials)."""

import base64
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from urllib.parse import parse_qsl

import jwt

from support.http_server import QuietHandler, serving
from support.tokens import rsa_key


@contextmanager
def token_endpoint(subject: str, id: str, secret: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Its URL, and the forms that it was sent; a token is for `subject`."""
    received_forms: list[dict[str, str]] = []
    expected = "Basic " + base64.b64encode(f"{id}:{secret}".encode()).decode()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            received_forms.append(dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode())))
            allowed = self.headers.get("Authorization") == expected
            body = {"access_token": _token(subject), "token_type": "Bearer", "expires_in": 3600} if allowed else {}
            self.answer(200 if allowed else 401, json.dumps(body).encode(), Content_Type="application/json")

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}/token", received_forms


def token_keys() -> str:
    """The keys by which its tokens are known: a JWKS."""
    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(rsa_key().public_key()))
    return json.dumps({"keys": [{**public, "kid": "one", "alg": "RS256", "use": "sig"}]})


def _token(subject: str) -> str:
    now = int(time.time())
    claims = {"sub": subject, "iat": now, "exp": now + 3600, "scope": "kafka"}
    return jwt.encode(claims, rsa_key(), "RS256", headers={"kid": "one"})
