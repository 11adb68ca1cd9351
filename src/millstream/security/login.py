"""Authentication: from the Authorization header of a request to its user."""

import base64
import binascii
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from millstream.model.settings import words
from millstream.security.roles import Principal, Role, read_roles
from millstream.security.tokens import TokenReader, TokenRefused, TokenRules, TokenUser
from millstream.security.users import User, UserFile
from millstream.services.errors import SetupError

BASIC, BEARER, NONE = "BASIC", "BEARER", "NONE"


class LoginRefused(Exception):
    """Why a request has no valid login."""


@dataclass(frozen=True, slots=True)
class Login:
    """How a server authenticates requests: by a file of users, by tokens, or by both.

    `allowed` has the roles; a user needs one of them ("*" = any), `open_paths` the paths that need no login; a `*` at
    the end of a path matches any continuation.
    """

    users: UserFile | None
    tokens: TokenReader | None
    roles: Mapping[str, Role]
    realm: str = ""
    allowed: frozenset[str] = frozenset({"*"})
    open_paths: frozenset[str] = field(default_factory=frozenset)
    topic_prefix: str = ""

    @property
    def challenges(self) -> list[str]:
        """The values of the header WWW-Authenticate of a 401 response: Basic, Bearer or both."""
        realm = self.realm.replace("\\", "").replace('"', "")
        schemes = [("Basic", self.users), ("Bearer", self.tokens)]
        return [f'{scheme} realm="{realm}"' for scheme, kind in schemes if kind is not None]

    def is_open(self, path: str) -> bool:
        """True if a path needs no login."""
        return any(path == open or (open.endswith("*") and path.startswith(open[:-1])) for open in self.open_paths)

    def is_quick(self, header: str) -> bool:
        """True if `principal` answers without computing a hash."""
        scheme, _, value = header.partition(" ")
        if scheme.lower() != "basic" or self.users is None:
            return True
        try:
            return self.users.is_cached(*_credentials(value))
        except LoginRefused:
            return True

    def principal(self, header: str) -> Principal:
        """The user that an Authorization header authenticates; blocks. Raises LoginRefused, SetupError."""
        scheme, _, value = header.partition(" ")
        if scheme.lower() == "basic" and self.users is not None:
            return self.stored(self._by_password(self.users, value))
        if scheme.lower() == "bearer" and self.tokens is not None:
            user = self._by_token(self.tokens, value)
            return replace(self._authenticated(user.name, user.roles), expires=user.expires)
        raise LoginRefused("this server requires a login")

    def current(self, principal: Principal) -> Principal:
        """A user who has logged in, with the roles that he has now: he may have been changed in the file, or removed.

        Raises LoginRefused, also if his token has expired, and SetupError.
        """
        if principal.expires is not None and principal.expires <= time.time():
            raise LoginRefused(expired(principal))
        if self.users is None or not principal.is_stored:
            return principal
        user = self.users.named(principal.name)
        if user is None:
            raise LoginRefused(f"user {principal.name} has been removed")
        return self.stored(user)

    def stored(self, user: User) -> Principal:
        """A user of the file who has shown his password. Raises LoginRefused: he has none of the required roles."""
        return replace(self._authenticated(user.name, user.roles), is_stored=True)

    def _authenticated(self, name: str, role_names: tuple[str, ...]) -> Principal:
        if "*" not in self.allowed and not self.allowed & set(role_names):
            raise LoginRefused(f"user {name} has none of the roles that authentication.roles requires")
        roles = tuple(self.roles[role] for role in role_names if role in self.roles)
        return Principal(name, roles, self.topic_prefix, others=tuple(self.roles.values()))

    def _by_password(self, users: UserFile, value: str) -> User:
        user = users.user(*_credentials(value))
        if user is None:
            raise LoginRefused("user name or password is wrong")
        return user

    def _by_token(self, tokens: TokenReader, value: str) -> TokenUser:
        try:
            return tokens.user(value.strip())
        except TokenRefused as refused:
            raise LoginRefused(f"the token is not accepted: {refused}") from refused


def expired(principal: Principal) -> str:
    """The message for a user whose token expires while he is connected."""
    return f"the token of user {principal.name} has expired: log in with a new one"


def basic(name: str, password: str) -> str:
    """The Authorization header of a name and a password."""
    return f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"


def _credentials(value: str) -> tuple[str, str]:
    """Name and password in the value after `Basic`. Raises LoginRefused."""
    try:
        text = base64.b64decode(value.strip(), validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise LoginRefused("the login is not base64 of name:password") from error
    name, _, password = text.partition(":")
    return name, password


def login_of(settings: Mapping[str, str]) -> Login | None:
    """The login that a server's settings describe; None if they require none. Raises SetupError."""
    methods = {word.upper() for word in words(settings["authentication.method"])} - {NONE}
    if not methods:
        return None
    if methods - {BASIC, BEARER}:
        raise SetupError(f"authentication.method={settings['authentication.method']} is not NONE, BASIC or BEARER")
    roles_file = settings["millstream.roles.file"]
    return Login(
        users=UserFile(Path(settings["millstream.users.file"])) if BASIC in methods else None,
        tokens=TokenReader(_rules(settings)) if BEARER in methods else None,
        roles=read_roles(Path(roles_file) if roles_file else None),
        realm=settings["authentication.realm"],
        allowed=frozenset(words(settings["authentication.roles"])),
        open_paths=frozenset({*ALWAYS_OPEN, *words(settings["authentication.skip.paths"])}),
        topic_prefix=settings["ksql.output.topic.name.prefix"],
    )


# Paths without a login. The page's files contain no data: the page prompts for the login, and sends it with requests.
ALWAYS_OPEN = ("/chc/live", "/chc/ready", "/v1/metadata", "/v1/metadata/id", "/", "/page/static/*")


def _rules(settings: Mapping[str, str]) -> TokenRules:
    keys = settings["oauthbearer.jwks.endpoint.url"]
    if not keys:
        raise SetupError("authentication.method=BEARER needs oauthbearer.jwks.endpoint.url: a JWKS, as file or URL")
    return TokenRules(
        keys,
        settings["oauthbearer.expected.issuer"],
        settings["oauthbearer.expected.audience"],
        settings["oauthbearer.sub.claim.name"],
        settings["oauthbearer.groups.claim.name"],
    )
