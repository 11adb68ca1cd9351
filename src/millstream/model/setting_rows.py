"""The kinds of rows of the table of settings (setting_table.py): of sessions, of the server, limits, secrets, TLS."""

from millstream.model.setting import Setting, SettingScope
from millstream.model.setting_kinds import INT_MAX, TEXT, ValueKind, whole

# The beginning of the description of a setting that is known and checked, but not used.
ACCEPTED = "accepted, without effect"


def session(
    name: str,
    default: str,
    doc: str,
    valid: ValueKind = TEXT,
    scope: SettingScope = SettingScope.KSQL,
    alterable: bool = True,
) -> Setting:
    """A setting that a session overrides. Statements read it when they are executed: so ALTER SYSTEM takes effect."""
    return Setting(name, default, doc, scope, True, False, valid, alterable and not doc.startswith(ACCEPTED))


def server(
    name: str,
    default: str,
    doc: str,
    valid: ValueKind = TEXT,
    scope: SettingScope = SettingScope.KSQL,
    alterable: bool = False,
) -> Setting:
    """A setting of the server's configuration; most are read when it starts."""
    return Setting(name, default, doc, scope, False, False, valid, alterable)


def secret(name: str, doc: str) -> Setting:
    """A setting of the server whose value is never shown."""
    return Setting(name, "", doc, SettingScope.KSQL, False, True, TEXT)


def most(limited: str, default: str, doc: str) -> Setting:
    """A setting of the largest size that a new statement may have; `limited` names what is counted."""
    return number(f"millstream.statement.max.{limited}", default, doc, alterable=True)


def number(name: str, default: str, doc: str, alterable: bool = False) -> Setting:
    """A setting of the server: from 1 to the largest integer of a JVM."""
    return server(name, default, doc, whole(1, INT_MAX), SettingScope.OWN, alterable)


def limit(name: str, default: str, doc: str, alterable: bool = False) -> Setting:
    """A setting of the REST server that is a whole number of at least 1."""
    return server(name, default, doc, whole(1), SettingScope.OWN, alterable)


def tls(prefix: str, service: str) -> tuple[Setting, ...]:
    """The settings of TLS connections to a service; `service` is its name in descriptions."""
    return (
        server(f"{prefix}truststore.location", "", f"certificates that {service} may have"),
        server(f"{prefix}truststore.type", "", f"{ACCEPTED}: the type is read from the file"),
        secret(f"{prefix}truststore.password", "the password of that file"),
        server(f"{prefix}keystore.location", "", f"our own certificate and key for {service}"),
        server(f"{prefix}keystore.type", "", f"{ACCEPTED}: the type is read from the file"),
        secret(f"{prefix}keystore.password", "the password of that file"),
        secret(f"{prefix}key.password", "the password of the key in it, if it differs (PEM)"),
    )
