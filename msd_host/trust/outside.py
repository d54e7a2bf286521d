"""What a capability runs that its content hash says nothing about (spec 20, Disclosure).

Every command line is such a thing; the rules here only find the words for it. None of them makes a command safe.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from .escape import shown

__all__ = ["outside_of_command", "outside_of_shell"]

#: Programs that fetch what they run, with the word after which the package comes ("" = at once).
_RUNNERS = {
    "uvx": ("",),
    "npx": ("",),
    "bunx": ("",),
    "pnpx": ("",),
    "dnx": ("",),
    "pipx": ("run",),
    "uv": ("run", "x"),
    "npm": ("exec", "x"),
    "pnpm": ("dlx", "exec"),
    "yarn": ("dlx",),
    "bun": ("x",),
    "deno": ("run",),
    "go": ("run",),
    "nix": ("run", "shell"),
    "docker": ("run",),
    "podman": ("run",),
}
_NEAR = 12  # words after a runner in which its package is looked for
_PACKAGE_OPTIONS = ("--from", "--package", "-p", "--with", "--spec")
_SHELLS = frozenset(["sh", "bash", "zsh", "dash", "ksh", "fish", "cmd", "powershell", "pwsh"])
_WORDS = re.compile(r"[\s;&|()<>`$\"'{}=]+")


def _base(command: str) -> str:
    name = re.split(r"[/\\]", command)[-1].lower()
    return re.sub(r"\.(exe|cmd|bat|ps1)$", "", name)


def outside_of_command(command: str, args: Sequence[object]) -> tuple[str, ...]:
    """One sentence per thing that *command* with *args* takes from outside the bundle; never none."""
    words = [arg for arg in args if isinstance(arg, str)]
    found = [_program(command), *_fetched(command, words)]
    if _base(command) in _SHELLS:
        found.append("a shell runs the text it is given, and every program that text calls")
    found.extend(_named(words))
    return tuple(dict.fromkeys(found))


def outside_of_shell(text: str) -> tuple[str, ...]:
    """The same for a text that a shell runs."""
    words = [word for word in _WORDS.split(text) if word]
    found = ["a shell runs it: every program it calls is the one that PATH finds"]
    found.extend(_fetched("", words))
    found.extend(_named(words))
    return tuple(dict.fromkeys(found))


def _program(command: str) -> str:
    name = f'"{shown(command)}"'
    if re.match(r"[/\\~]|[A-Za-z]:", command):
        return f"{name} lies outside the bundle"
    if re.search(r"[/\\$%{]", command):
        return f"{name} is looked up from where the server is started, not in the bundle"
    return f"{name} is the program that PATH finds"


def _fetched(command: str, args: Sequence[str]) -> Iterator[str]:
    """What package runners fetch; also those that hide behind `env` or `sudo`."""
    for place, word in enumerate((command, *args)):
        triggers = _RUNNERS.get(_base(word))
        if triggers is None:
            continue
        rest = args[place : place + _NEAR]
        verb = next((arg for arg in rest if not arg.startswith("-") and arg != "tool"), None)
        if "" in triggers or verb in triggers:
            names = ", ".join(f'"{shown(package)}"' for package in _packages(rest, triggers)) or "a package"
            yield f'"{shown(word)}" fetches and runs {names}, which may be other code each time'


def _packages(args: Iterable[str], triggers: Sequence[str]) -> Iterator[str]:
    wanted = False
    named = False
    for arg in args:
        option, mark, value = arg.partition("=")
        if wanted or (mark and option in _PACKAGE_OPTIONS):
            yield value if mark and not wanted else arg
            wanted, named = False, True
        elif arg in _PACKAGE_OPTIONS:
            wanted = True
        elif not arg.startswith("-") and arg not in (*triggers, "tool"):
            if not named:
                yield arg
            return


def _named(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        if "://" in word:
            yield f'it is given the address "{shown(word)}"'
        elif re.match(r"/[^/\s]|~/", word):
            yield f'it is given "{shown(word)}", which lies outside the bundle'
