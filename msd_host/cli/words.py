"""The words of the command line and what each is for; imports nothing, so that help costs nothing."""

from __future__ import annotations

__all__ = ["GROUPS", "OPTIONS", "overview"]

#: group -> (module, {verb: one line}); a group without verbs has the empty word.
GROUPS: dict[str, tuple[str, dict[str, str]]] = {
    "demo": ("demo", {"": "watch the whole story in a throwaway home and project"}),
    "loop": (
        "loop",
        {
            "points": "list the points of the loop",
            "render-hooks": "what is active at a point, as JSON or markdown",
            "check": "evaluate the gates of a point; exit 10 when blocked",
        },
    ),
    "capability": (
        "capability",
        {
            "list": "every capability, where it comes from and its state",
            "show": "one capability",
            "explain": "the whole way of an id through composition",
            "check": "what a load would say of a folder",
            "install": "install an overlay from a folder, git, an archive, pypi: or npm:",
            "update": "bring an installed overlay, or --all, up to date",
            "rollback": "return to the version an overlay had before",
            "outdated": "what has a newer version at its source",
            "remove": "remove an overlay",
            "state": "what is on and what is not, with the reason, down to each hook",
            "set": "switch a capability on or off and set its gates, all of it or nothing",
            "enable": "switch a capability on",
            "disable": "switch a capability off; a skipped overlay is muted",
            "trust": "look at, agree to or refuse project overlays",
        },
    ),
    "surface": (
        "surface",
        {
            "show": "what people and agents get to see",
            "profile": "choose a small, usual or whole set: core, standard, full",
            "enable": "switch a capability on",
            "disable": "switch a capability off, with all it has",
            "add": "show one more skill than the profile gives",
            "remove": "show one skill less",
            "apply": "bring skills and agents into a coding tool's folder",
        },
    ),
    "settings": (
        "settings",
        {
            "list": "every key, its value and the layer it comes from",
            "get": "the value of a key",
            "set": "write a value into the project's or the user's configuration",
            "unset": "take a value out of it again",
            "explain": "what every layer says of a key, and which one wins",
        },
    ),
    "new": ("new", {"": "begin a capability, a stage or an observer"}),
    "plugins": (
        "plugins",
        {
            "list": "every installed extension of the host and whether it is on",
            "check": "try extensions out, each in a process of its own",
            "enable": "switch an extension on for this user",
            "disable": "switch an extension off for this user",
        },
    ),
    "registry": (
        "registry",
        {
            "show": "the composed registry as JSON",
            "digest": "one digest to compare two machines by",
            "build": "freeze the first-party set, or check that it has not drifted",
            "graph": "who requires whom, as mermaid, dot or svg",
        },
    ),
    "doctor": ("doctor", {"": "what is wrong around the host; --fix puts right what can be"}),
    "schema": ("schema", {"": "the JSON Schema of capability.json, for editors"}),
    "completion": ("completion", {"": "what a shell needs to complete words: bash, zsh or fish"}),
    "hook": (
        "hook",
        {
            "run": "what a coding tool's settings start for an overlay, after a look at consent and bytes",
            "serve": "the same for a server of an overlay",
        },
    ),
    "report": ("report", {"": "one page for people who rather look: report --html FILE"}),
    "x": ("x", {"": "run a command that a capability brings: x FAMILY …"}),
}

#: option -> (takes a value, what it does)
OPTIONS: dict[str, tuple[bool, str]] = {
    "--home": (True, "the home to use instead of the environment's"),
    "--cwd": (True, "the folder to start from; the served project is found upward"),
    "--json": (False, "one JSON document on stdout"),
    "--no-plugins": (False, "load no extension of the host"),
    "--strict": (False, "exit 8 when anything is skipped"),
    "--trust": (True, "ID@sha512-HASH: agree to exactly these bytes, for this run only"),
    "--no-color": (False, "no colours"),
    "--quiet": (False, "no talk on stderr but warnings"),
    "--verbose": (False, "more talk on stderr"),
    "--debug": (False, "a traceback with every error"),
}


def overview(command: str, title: str) -> str:
    """The text of `--help`."""
    lines = [
        f"usage: {command} [options] <group> <verb> …",
        "",
        f"{title}: a loop, and capabilities that add to it.",
        "",
    ]
    for group, (_, verbs) in GROUPS.items():
        for verb, line in verbs.items():
            lines.append(f"  {f'{group} {verb}'.strip():<26} {line}")
    lines.append("")
    for option, (takes, line) in OPTIONS.items():
        lines.append(f"  {option + (' VALUE' if takes else ''):<26} {line}")
    lines += ["", "example:", f"  {command} loop render-hooks plan:pre", f"  {command} capability explain acme", ""]
    return "\n".join(lines)
