"""A page of docs/ that is followed step by step: its files are written, its commands run, its outputs compared.

A block of SQL that begins with `-- NAME.sql` is a file. A console block has commands, each behind `$ `, and what they
print; `…` in it matches anything. Commands are `millstream` (`millstream server` starts a real one), `curl` of
JSON, `sed`, and `kcat` with keys before a colon: -P writes the lines of its here-document, -C reads a topic, whose
order is that of each key.
"""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from support.kafka import BrokerClient, wait_for
from support.patience import PATIENCE
from support.server_process import ServerProcess

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(sql|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
NAME = re.compile(r"-- ([\w.]+\.sql)\n")
COMMAND = re.compile(r"^\$ ", re.MULTILINE)
DOCUMENT = re.compile(r" <<(\w+)\n(.*?)^\1\n", re.DOTALL | re.MULTILINE)
MILLSTREAM = (sys.executable, "-m", "millstream")
# Statements that change nothing are tried again until their output is the page's.
READS = re.compile(r"^(?:kcat -C|curl |millstream \S+ -e \"(?:SELECT|SHOW|DESCRIBE))")
BROKER, SERVER = "localhost:9092", "http://localhost:8088"


@dataclass(frozen=True)
class Command:
    """A command as the page has it, the lines that it reads, and what it must print."""

    text: str
    document: str
    output: str

    @property
    def words(self) -> list[str]:
        """The command as a shell splits it."""
        return shlex.split(self.text)

    def prints(self, output: str) -> bool:
        """Whether an output is the page's."""
        expected = self.output
        if self.words[0] == "kcat":
            expected, output = by_key(expected), by_key(output)
        return re.fullmatch(".*".join(map(re.escape, expected.split("…"))), output) is not None


def by_key(lines: str) -> str:
    """Lines of `key:value`, sorted by the key."""
    return "".join(sorted(lines.splitlines(keepends=True), key=lambda line: line.partition(":")[0]))


def blocks(page: str) -> Iterator[tuple[str, str]]:
    """Language and text of each block of a page."""
    yield from BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))


def commands(block: str) -> Iterator[Command]:
    """The commands of a console block."""
    for text in COMMAND.split(block)[1:]:
        document = DOCUMENT.search(text)
        text = DOCUMENT.sub("\n", text)
        line, _, output = text.partition("\n")
        yield Command(line, document[2] if document else "", output)


@dataclass
class Guide:
    """Follows the steps of a page, with a working folder and a broker."""

    folder: Path
    kafka: BrokerClient
    servers: list[ServerProcess] = field(default_factory=list)

    def follow(self, page: str) -> None:
        """Execute all steps of a page; AssertionError if an output is not the page's."""
        for language, text in blocks(page):
            name = NAME.match(text)
            if name:
                (self.folder / name[1]).write_text(text, encoding="utf-8")
            elif language == "console":
                for command in commands(text):
                    self._carry_out(command)

    def close(self) -> None:
        """End the servers."""
        for server in self.servers:
            server.kill()

    def _carry_out(self, command: Command) -> None:
        outputs = [self._run(command)]
        if READS.match(command.text) and not command.prints(outputs[-1]):
            wait_for(lambda: command.prints(outputs.append(self._run(command)) or outputs[-1]), command.text)
        assert command.prints(outputs[-1]), f"$ {command.text}\n{outputs[-1]}"

    def _run(self, command: Command) -> str:
        program, *words = command.words
        match program, words[0]:
            case "millstream", "server":
                return self._serve(words)
            case "millstream", _:
                return self._millstream(words)
            case "sed", _:
                subprocess.run(command.text, shell=True, cwd=self.folder, check=True)
                return ""
            case "curl", _:
                return self._request(words)
            case "kcat", "-P":
                return self._write(words, command.document)
            case _:
                return self._read(words)

    def _serve(self, words: list[str]) -> str:
        service = words[words.index("--service-id") + 1]
        self.servers.append(
            ServerProcess(
                self.kafka.bootstrap, self.folder, **{"ksql.service.id": service, "auto.offset.reset": "latest"}
            )
        )
        self.servers[-1].start()
        return ""

    def _millstream(self, words: list[str]) -> str:
        words = [self.servers[-1].url if word == SERVER else word for word in words]
        result = subprocess.run(
            [*MILLSTREAM, *words], cwd=self.folder, capture_output=True, text=True, timeout=2 * PATIENCE
        )
        return result.stdout + (result.stderr if result.returncode else "")

    def _request(self, words: list[str]) -> str:
        (url,) = (word for word in words if word.startswith(SERVER))
        body = words[words.index("-d") + 1].encode()
        head = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = httpx.post(url.replace(SERVER, self.servers[-1].url), content=body, headers=head, timeout=PATIENCE)
        return answer.text.rstrip("\n") + "\n"

    def _write(self, words: list[str], document: str) -> str:
        for line in document.splitlines():
            key, _, value = line.partition(":")
            self.kafka.send(words[words.index("-t") + 1], key.encode(), value.encode())
        self.kafka.flush()
        return ""

    def _read(self, words: list[str]) -> str:
        topic = words[words.index("-t") + 1]
        records = self.kafka.consume_all(topic, self.kafka.ends(topic))
        return "".join(f"{(r.key or b'').decode()}:{(r.value or b'').decode()}\n" for r in records)
