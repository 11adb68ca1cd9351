"""A client's session: its SETs and DEFINEs, and the settings and variables that they result in."""

from collections.abc import Mapping
from typing import Any

from millstream.engine.api import Request, RequestFailed
from millstream.model.settings import SettingRefused, canonical, check_session, effective
from millstream.syntax import tree
from millstream.syntax.variables import LONGEST

# The member of a request's "requestProperties" after which a push query goes on.
TOKEN_PROPERTY = "request.ksql.query.push.continuation.token"


class RequestSession:
    """A session while one request runs: SET, UNSET, DEFINE and UNDEFINE in the text affect the statements after
    them."""

    def __init__(self, request: Request, server: Mapping[str, str]) -> None:
        """Raises RequestFailed if a property of the request cannot be set."""
        self.server = server
        # The number of the command that must be executed before the next statement.
        self.sequence = request.sequence
        self.variables: dict[str, str] = {}
        self._written: dict[str, str] = {}
        self.properties: dict[str, str] = {}
        try:
            for name, text in request.variables.items():
                self._define(name, text)
            for name, value in request.properties.items():
                self.put(name, value)
        except SettingRefused as refused:
            raise RequestFailed(40000, str(refused)) from refused

    @property
    def settings(self) -> dict[str, str]:
        """Every setting in effect: the session's value, else the server's, else the default."""
        return effective(self.server, self.properties)

    @property
    def written_variables(self) -> dict[str, str]:
        """The variables by the spelling they were last defined with; lookups are in upper case."""
        return {self._written[name]: value for name, value in self.variables.items()}

    def put(self, name: str, value: Any) -> None:
        """Set a property as SET does; the value None removes it, as UNSET does. Raises SettingRefused."""
        if value is None:
            self.properties.pop(canonical(name), None)
            return
        setting = check_session(name, value, self.server)
        self.properties[setting.name] = setting.stored(value) or ""

    def apply(self, statement: tree.Statement) -> bool:
        """Apply a statement about the session; False for another statement. Raises SettingRefused."""
        match statement:
            case tree.SetProperty(name, value):
                self.put(name, value)
            case tree.UnsetProperty(name):
                self._unset(name)
            case tree.Define(name, value):
                self._define(name, value)
            case tree.Undefine(name):
                self.variables.pop(name.upper(), None)
            case _:
                return False
        return True

    def _unset(self, name: str) -> None:
        check_session(name, None, self.server)
        self.properties.pop(canonical(name), None)

    def _define(self, name: str, value: str) -> None:
        others = sum(len(variable) for key, variable in self.variables.items() if key != name.upper())
        if others + len(value) > LONGEST:
            raise SettingRefused(f"the variables of a session may have {LONGEST} characters together")
        self.variables[name.upper()] = value
        self._written[name.upper()] = name
