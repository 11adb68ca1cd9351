"""A broker whose clients log in, by passwords, tokens or certificates, and that lets each user do only what ACLs grant.

secured.bootstrap                      a listener for the test itself, which may do everything
secured.settings("SCRAM-SHA-512")      a server's settings for a listener that asks for a login, as ksqlDB has them
secured.grant("engine", …)             an ACL of a user
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from millstream.services.broker import BrokerProcess
from millstream.services.ports import free_port
from millstream.tester.environment import NO_RETENTION
from support.certificates import Authority
from support.token_endpoint import token_keys

HOST = "127.0.0.1"
USER = "engine"
# A password with what JAAS has to escape.
SECRET = 'pa"ss\\word;=1'
OAUTH = "org.apache.kafka.common.security.oauthbearer"
MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "OAUTHBEARER": f"{OAUTH}.OAuthBearerLoginModule",
}


@dataclass(frozen=True, slots=True)
class Grant:
    """An ACL: operations on a resource of that name, or on all whose names begin so (`prefix`)."""

    kind: ResourceType
    name: str
    operations: Sequence[AclOperation]
    prefix: bool = False


class SecuredBroker:
    """A broker with listeners for SASL, for TLS with certificates of clients, and for both; data under `folder`."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder)
        self._ports = {name: free_port() for name in ("PLAINTEXT", "SASL", "TLS", "BOTH", "CONTROLLER")}
        self._keys = folder / "keys.json"
        self._keys.write_text(token_keys())
        self.process = BrokerProcess(
            folder / "kafka",
            self._ports["PLAINTEXT"],
            HOST,
            settings=NO_RETENTION | self._settings(),
            heap="512m",
            jvm_options=[f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self._keys.as_uri()}"],
        )

    @property
    def bootstrap(self) -> str:
        """The address of the listener without a login."""
        return self.process.bootstrap

    def start(self) -> None:
        """Start it, and create the user."""
        self.process.start()
        admin = self._admin()
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            user = UserScramCredentialUpsertion(USER, ScramCredentialInfo(mechanism, 4096), SECRET.encode())
            admin.alter_user_scram_credentials([user])[USER].result(30)

    def grant(self, *grants: Grant, user: str = USER) -> None:
        """Let a user do something."""
        admin = self._admin()
        for answer in admin.create_acls(_bindings(grants, user)).values():
            answer.result(30)

    def revoke(self, *grants: Grant, user: str = USER) -> None:
        """Take back what `grant` has granted."""
        admin = self._admin()
        for answer in admin.delete_acls(_bindings(grants, user, AclBindingFilter)).values():  # type: ignore[arg-type]
            answer.result(30)

    def settings(self, mechanism: str, password: str = SECRET, tls: bool = False) -> dict[str, str]:
        """A server's settings for a login by SASL, as ksqlDB's configuration has them."""
        escaped = password.replace("\\", "\\\\").replace('"', '\\"')
        options = f'username="{USER}" password="{escaped}"'
        trust = {name: value for name, value in self.authority.settings("jks").items() if "truststore" in name}
        return {
            "bootstrap.servers": f"{HOST}:{self._ports['BOTH' if tls else 'SASL']}",
            "security.protocol": "SASL_SSL" if tls else "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f"{MODULES[mechanism]} required {options};",
        } | (trust if tls else {})

    def token(self, url: str, id: str, secret: str, package: str = OAUTH) -> dict[str, str]:
        """A server's settings for a login by a token of the endpoint `url`; `package` is that of Kafka's handler."""
        login = f'{MODULES["OAUTHBEARER"]} required clientId="{id}" clientSecret="{secret}" scope="kafka";'
        return self.settings("OAUTHBEARER") | {
            "sasl.jaas.config": login,
            "sasl.oauthbearer.token.endpoint.url": url,
            "sasl.login.callback.handler.class": f"{package}.OAuthBearerLoginCallbackHandler",
        }

    def certificates(self, kind: str) -> dict[str, str]:
        """A server's settings for a login by a certificate in files of a kind: pem, jks, p12."""
        return {
            "bootstrap.servers": f"{HOST}:{self._ports['TLS']}",
            "security.protocol": "SSL",
            **self.authority.settings(kind),
        }

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap})

    def _settings(self) -> dict[str, object]:
        own, trust = self.authority.folder / "server.pem", self.authority.folder / "trust.pem"
        protocols = {"SASL": "SASL_PLAINTEXT", "TLS": "SSL", "BOTH": "SASL_SSL"}
        mechanisms = ",".join(MODULES)
        listeners = {name: f"{name}://{HOST}:{port}" for name, port in self._ports.items()}
        logins: dict[str, object] = {}
        for name in ("sasl", "both"):
            prefix = f"listener.name.{name}"
            logins[f"{prefix}.sasl.enabled.mechanisms"] = mechanisms
            for mechanism, module in MODULES.items():
                logins[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = f"{module} required {_known(mechanism)};"
            tokens = f"{prefix}.oauthbearer.sasl"
            logins[f"{tokens}.server.callback.handler.class"] = f"{OAUTH}.OAuthBearerValidatorCallbackHandler"
            logins[f"{tokens}.oauthbearer.jwks.endpoint.url"] = self._keys.as_uri()
        return {
            "listeners": ",".join(listeners.values()),
            "advertised.listeners": ",".join(v for n, v in listeners.items() if n != "CONTROLLER"),
            "controller.quorum.voters": f"1@{HOST}:{self._ports['CONTROLLER']}",
            "listener.security.protocol.map": ",".join(f"{n}:{protocols.get(n, 'PLAINTEXT')}" for n in listeners),
            "inter.broker.listener.name": "PLAINTEXT",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": own,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": trust,
            "listener.name.tls.ssl.client.auth": "required",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            **logins,
        }


def _known(mechanism: str) -> str:
    """The options of a broker's own login module: whom it knows."""
    if mechanism == "PLAIN":
        escaped = SECRET.replace("\\", "\\\\").replace('"', '\\"')
        # A properties file has backslashes of its own.
        return f'user_{USER}="{escaped}"'.replace("\\", "\\\\")
    return ""


def _bindings(grants: Sequence[Grant], user: str, kind: type[AclBinding] = AclBinding) -> list[AclBinding]:
    return [
        kind(
            grant.kind,
            grant.name,
            ResourcePatternType.PREFIXED if grant.prefix else ResourcePatternType.LITERAL,
            f"User:{user}",
            "*",
            operation,
            AclPermissionType.ALLOW,
        )
        for grant in grants
        for operation in grant.operations
    ]
