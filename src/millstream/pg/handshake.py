"""The beginning of a connection: TLS, the startup message, and the login.

SSLRequest  →  S, then TLS (or N)
startup     →  SCRAM-SHA-256 for a user with a verifier; a password in clear text through TLS, or on this machine
"""

import hmac
import secrets
from dataclasses import dataclass

from millstream.pg import messages
from millstream.pg.context import PgContext
from millstream.pg.failures import INVALID_AUTHORIZATION, PgError
from millstream.pg.messages import BareMessage, ByteReader, ProtocolViolation, StartupRequest
from millstream.pg.stream import PgStream
from millstream.security.login import LoginRefused, basic
from millstream.security.roles import ANYONE, Principal
from millstream.security.scram import METHOD, ScramExchange, ScramRefused
from millstream.security.users import User
from millstream.server.addresses import is_loopback
from millstream.services.errors import SetupError

INVALID_PASSWORD = "28P01"


@dataclass(frozen=True, slots=True)
class HandshakeResult:
    """The result of the handshake: the parameters of a session, or the key of a CancelRequest."""

    startup: StartupRequest
    principal: Principal | None = None


async def handshake(stream: PgStream, context: PgContext) -> HandshakeResult:
    """Take a connection up to its login. Raises PgError, ProtocolViolation, ClientLeft."""
    request = await stream.read_startup()
    requested: set[int] = set()
    while request.code in (messages.SSL, messages.GSS):
        if request.code in requested:
            raise ProtocolViolation("a second request for encryption")
        requested.add(request.code)
        if request.code == messages.SSL and context.tls is not None:
            await stream.start_tls(context.tls)
        else:
            stream.put(messages.NO_TLS)
            await stream.flush()
        request = await stream.read_startup()
    if request.code == messages.CANCEL:
        return HandshakeResult(request)
    _check_version(request, stream)
    return HandshakeResult(request, await _login(request.parameters.get("user", ""), stream, context))


async def read_startup_without_tls(stream: PgStream) -> None:
    """Take a connection up to its startup message, without TLS. Raises ProtocolViolation, ClientLeft."""
    for _ in range(3):
        if (await stream.read_startup()).code not in (messages.SSL, messages.GSS):
            return
        stream.put(messages.NO_TLS)
        await stream.flush()


def _check_version(request: StartupRequest, stream: PgStream) -> None:
    """Raises PgError 0A000: not version 3. A client of a later 3.x, or with options, gets NegotiateProtocolVersion."""
    major, minor = request.code >> 16, request.code & 0xFFFF
    if major != messages.PROTOCOL >> 16:
        raise PgError("0A000", f"protocol {major}.{minor} is not supported", "connect with version 3.0", fatal=True)
    options = [name for name in request.parameters if name.startswith("_pq_.")]
    if minor or options:
        stream.put(messages.negotiate(options))
    if "replication" in request.parameters:
        raise PgError("0A000", "replication connections are not supported", fatal=True)


async def _login(name: str, stream: PgStream, context: PgContext) -> Principal:
    """The user of a session. Raises PgError 28P01, 28000."""
    login = context.login
    if login is None:
        return ANYONE
    try:
        user = login.users.named(name) if login.users is not None else None
        if login.users is not None and (user is None or user.scram is not None) and not _may_be_token(user, context):
            return await _scram(name, user, stream, context)
        return await _by_password(name, user, stream, context)
    except (LoginRefused, SetupError, ScramRefused) as refused:
        raise PgError(INVALID_PASSWORD, f'password authentication failed for user "{name}"', fatal=True) from refused


def _may_be_token(user: User | None, context: PgContext) -> bool:
    """True if the password may be a token: no user of that name is in the file, and the server accepts tokens."""
    return user is None and context.login is not None and context.login.tokens is not None


async def _by_password(name: str, user: User | None, stream: PgStream, context: PgContext) -> Principal:
    """A login by the password itself, or by a token in its place. Raises PgError, LoginRefused, SetupError."""
    login = context.login
    assert login is not None
    if not stream.is_tls and not is_loopback(stream.address[0]):
        raise PgError(
            INVALID_AUTHORIZATION,
            "a password is not accepted in clear text from a network",
            "connect with sslmode=require, or have the user added with `millstream users add --scram`",
            fatal=True,
        )
    password = (await _answer(stream, messages.authentication(messages.CLEARTEXT))).rstrip(b"\0")
    try:
        text = password.decode()
    except UnicodeDecodeError:
        raise LoginRefused("the password is not UTF-8") from None
    header = basic(name, text) if user is not None or login.tokens is None else f"Bearer {text}"
    principal = await context.hashes.run(lambda: login.principal(header))
    # A token names its user: the session must not have another name.
    if user is not None and not hmac.compare_digest(principal.name.encode(), name.encode()):
        raise LoginRefused("the login is another user's")
    return principal


async def _scram(name: str, user: User | None, stream: PgStream, context: PgContext) -> Principal:
    """A login by SCRAM; for a name that does not exist the same exchange, which fails at its end.

    Raises ScramRefused, LoginRefused, ProtocolViolation.
    """
    login = context.login
    assert login is not None
    assert login.users is not None
    verifier = user.scram if user is not None else None
    exchange = ScramExchange(verifier or login.users.pretended(name))
    offer = messages.authentication(messages.SASL, messages.texts(METHOD) + b"\0")
    first = ByteReader(await _answer(stream, offer))
    if first.text() != METHOD:
        raise ScramRefused("another method than the one offered")
    challenge = exchange.challenge(first.value() or b"")
    final = await _answer(stream, messages.authentication(messages.SASL_CONTINUE, challenge))
    signature = exchange.verified(final)
    if user is None:
        raise ScramRefused("there is no such user")
    principal = login.stored(user)
    stream.put(messages.authentication(messages.SASL_FINAL, signature))
    return principal


async def _answer(stream: PgStream, question: bytes) -> bytes:
    """The content of the client's answer to a request for a password. Raises ProtocolViolation, ClientLeft."""
    stream.put(question)
    await stream.flush()
    answer = await stream.read_message(messages.LONGEST_PASSWORD)
    if not isinstance(answer, BareMessage) or answer.tag != "p":
        raise ProtocolViolation("a password is expected")
    return answer.content


def new_secret() -> int:
    """The secret of a session's cancel key."""
    return secrets.randbits(32)
