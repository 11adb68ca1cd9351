"""Reads and checks settings: canonical names, stored values, what a session may override, defaults."""

from collections.abc import Iterable, Mapping

from millstream.model.errors import fact_and_hint, hint_line
from millstream.model.ksqldb_names import REFUSED, has_no_effect
from millstream.model.names import did_you_mean, literal
from millstream.model.secrets import HIDDEN, without_user
from millstream.model.setting import Setting, SettingScope, text_of
from millstream.model.setting_kinds import TEXT
from millstream.model.setting_rows import ACCEPTED
from millstream.model.setting_table import SETTINGS

STREAMS_PREFIX = "ksql.streams."
# Prefixes of Kafka client settings that a server's configuration may contain: they are passed on unchanged.
CLIENT_PREFIXES = ("ssl.", "sasl.", "security.", "kafka.")
# The prefix of Spark settings that a server's configuration may contain: they are passed on unchanged.
SPARK_PREFIX = "spark."
_UNCHECKED = (*CLIENT_PREFIXES, SPARK_PREFIX)
# Each statement asks for all settings.
_DEFAULTS = {name: setting.default for name, setting in SETTINGS.items()}
CHECKED = "is not a valid value"
AT_START = "only a server's configuration sets it: use --set or --config-file, and restart the server"
OF_SESSIONS = "SET sets it for the statements of a session"


class SettingRefused(Exception):
    """A property that cannot be set: unknown, not for sessions, or with an invalid value."""

    @property
    def fact_and_hint(self) -> tuple[str, str]:
        """The text without its hint, and the hint; "" if it has none."""
        return fact_and_hint(str(self))


def canonical(name: str) -> str:
    """The canonical name of a property: without the prefix `ksql.streams.`, `consumer.` or `producer.`."""
    bare = _bare(name)
    for prefix in ("", "consumer.", "producer."):
        if bare.removeprefix(prefix) in SETTINGS:
            return bare.removeprefix(prefix)
    return name


def _bare(name: str) -> str:
    """A name without the prefix `ksql.streams.`, which is optional."""
    return name.removeprefix(STREAMS_PREFIX)


def check(name: str, value: object = None) -> Setting:
    """The setting of that name; its value is checked unless it is None. Raises SettingRefused.

    A name of ksqlDB's that has no setting here (ksqldb_names.py) is one without effect, that may have any value.
    """
    setting = SETTINGS.get(canonical(name)) or _accepted(name)
    if setting is None:
        hint = did_you_mean(name, SETTINGS, literal)
        raise SettingRefused(
            f"Not recognizable as ksql, streams, consumer, or producer property: '{name}'" + hint_line(hint)
        )
    if value is not None and setting.stored(value) is None:
        shown = HIDDEN if setting.secret else shortened(without_user(text_of(value)))
        hint = f"valid is {setting.valid.words}"
        raise SettingRefused(f"'{shown}' {CHECKED} of property '{name}' ({setting.doc})" + hint_line(hint))
    return setting


def check_session(name: str, value: object, server: Mapping[str, str]) -> Setting:
    """The setting that a session overrides. Raises SettingRefused if it does not exist or a session may not set it."""
    setting = check(name, value)
    denied = _names(server.get("ksql.properties.overrides.denylist", ""))
    allowed = _names(server.get("ksql.properties.overrides.allowlist", ""))
    if not setting.editable or setting.name in denied or (allowed and setting.name not in allowed):
        raise SettingRefused(f"Cannot override property '{name}'\n  hint: only the server's configuration sets it")
    return setting


def check_system(name: str, value: str) -> Setting:
    """The setting that ALTER SYSTEM sets, for every server of the service.

    Raises SettingRefused if it does not exist, only a server's configuration sets it, nothing reads it, or the value is
    not valid.
    """
    if canonical(name) not in SETTINGS and _bare(name).startswith(_UNCHECKED):
        raise SettingRefused(f"Cannot alter system property '{name}'{hint_line(AT_START)}")
    setting = check(name)
    if setting.doc.startswith(ACCEPTED):
        raise SettingRefused(f"Cannot alter system property '{name}': it has no effect{hint_line(setting.doc)}")
    if not setting.alterable:
        hint = OF_SESSIONS if setting.editable else AT_START
        raise SettingRefused(f"Cannot alter system property '{name}'{hint_line(hint)}")
    return check(name, value)


def checked(properties: Mapping[str, object]) -> dict[str, str]:
    """Properties under their canonical names, with stored values, but for those `without_effect`.

    Settings of Kafka clients (CLIENT_PREFIXES) and of Spark are checked by their own libraries. Raises SettingRefused
    for an invalid one.
    """
    for name in filter(REFUSED.get, properties):
        raise SettingRefused(f"A server cannot have the property '{name}'{hint_line(REFUSED[name])}")
    free = {name: text_of(value) for name, value in properties.items() if _bare(name).startswith(_UNCHECKED)}
    unused = {*free, *without_effect(properties)}
    own = ((check(name, value), value) for name, value in properties.items() if name not in unused)
    # A name with the prefix of Kafka Streams comes last: ksqlDB's queries prefer it.
    free_names = sorted(free, key=lambda name: name.startswith(STREAMS_PREFIX))
    by_name = {_bare(name): free[name] for name in free_names}
    return {**{setting.name: setting.stored(value) or "" for setting, value in own}, **by_name}


def _accepted(name: str) -> Setting | None:
    """A setting that nothing reads, if it is one of ksqlDB's; sessions may set it unless it is of a client's login."""
    bare = _bare(name)
    if not has_no_effect(bare):
        return None
    own_login = any(bare.removeprefix(client).startswith(CLIENT_PREFIXES) for client in ("consumer.", "producer."))
    return Setting(name, "", ACCEPTED, SettingScope.STREAMS, not own_login, own_login, TEXT)


def without_effect(properties: Iterable[str]) -> list[str]:
    """The names of ksqlDB's, among those of a server's properties, that have no setting here (ksqldb_names.py)."""
    unknown = (name for name in properties if canonical(name) not in SETTINGS)
    return sorted(name for name in unknown if has_no_effect(_bare(name)))


def as_texts(properties: Mapping[str, object]) -> dict[str, str]:
    """Properties with canonical names, and values as text."""
    return {canonical(name): text_of(value) for name, value in properties.items()}


def effective(server: Mapping[str, object], session: Mapping[str, object] | None = None) -> dict[str, str]:
    """The value of every setting: the session's, else the server's, else the default."""
    return {**_DEFAULTS, **as_texts(server), **as_texts(session or {})}


def replaced_variables(variables: Mapping[str, str], settings: Mapping[str, str]) -> Mapping[str, str]:
    """The variables that a statement may use: none if substitution is off."""
    return variables if is_on(settings, "ksql.variable.substitution.enable") else {}


def is_on(settings: Mapping[str, str], name: str) -> bool:
    """True if a boolean setting is on: by its value in `settings`, or, if that is absent or empty, by its default.

    All boolean settings are read by this function.
    """
    value = settings.get(name, "").strip() or SETTINGS[name].default
    return value.lower() == "true"


def shortened(text: str, most: int = 100) -> str:
    """A text for an error message: on one line, shortened if it is long, without unprintable characters."""
    line = " ".join(text.split())
    cut = line if len(line) <= most else f"{line[: most - 1]}…"
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in cut)


def words(text: str) -> tuple[str, ...]:
    """The words of a comma-separated setting, without blanks around them and without empty ones."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _names(text: str) -> frozenset[str]:
    return frozenset(map(canonical, words(text)))
