"""The program of a worker process: this package's modules in one text, so that it needs no files."""

from importlib.resources import files

from millstream.udf.confinement import ConfinementOptions

# In the order of their imports.
MODULES = (
    "millstream.udf",
    "millstream.udf.confinement",
    "millstream.udf.code",
    "millstream.udf.wire",
    "millstream.udf.worker",
)
_START = """
import sys, types
for name, text in {modules!r}:
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = []
    exec(compile(text, name, "exec"), module.__dict__)
sys.modules["millstream.udf.worker"].main(**{options!r})
"""


def program(options: ConfinementOptions | None = None) -> str:
    """A program for `python -c`; its arguments are those of worker.main."""
    modules = [("millstream", ""), *((name, _text(name)) for name in MODULES)]
    return _START.format(modules=modules, options=(options or ConfinementOptions()).as_dict())


def _text(name: str) -> str:
    file = "__init__.py" if name == __package__ else f"{name.rpartition('.')[2]}.py"
    return files(__package__).joinpath(file).read_text()
