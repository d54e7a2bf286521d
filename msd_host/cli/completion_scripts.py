"""The three scripts. Each walks the words before the cursor in the same way and looks the place up in a table.

Only words that mean themselves in every shell get here (`completion._is_safe`); descriptions are quoted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .completion import Table

__all__ = ["script"]

_BASH = r"""# completion of @NAME@ for bash; made by `@NAME@ completion bash`
_@FN@_table() {
  case "$1" in
@ROWS@
    *) REPLY=""; return 1 ;;
  esac
}
_@FN@_is_in() { local w; for w in $2; do [ "$w" = "$1" ] && return 0; done; return 1; }
_@FN@() {
  local line=() i w cur joined="" path="" n=1 pending="" after="" REPLY="" found="" asked=()
  for ((i = 1; i <= COMP_CWORD; i++)); do  # bash cuts words at : and =; put them together again
    w="${COMP_WORDS[i]}"
    case "$w" in
      :|=) [ ${#line[@]} -gt 0 ] && { line[${#line[@]}-1]+="$w"; joined=1; continue; } ;;
    esac
    if [ -n "$joined" ]; then line[${#line[@]}-1]+="$w"; joined=""; else line+=("$w"); fi
  done
  cur="${line[${#line[@]}-1]}"
  for ((i = 0; i < ${#line[@]} - 1; i++)); do
    w="${line[i]}"
    if [ -n "$pending" ]; then
      case "$pending" in --home|--cwd) asked+=("$pending" "$w") ;; esac
      pending=""; continue
    fi
    case "$w" in
@SHORT@
    esac
    case "$w" in
      --home=*|--cwd=*) asked+=("$w") ;;
      -*=*) ;;
      -*) if _@FN@_table "val $path $w" || _@FN@_table "val  $w"; then pending="$w"; fi ;;
      *) if _@FN@_table "sub $path" && _@FN@_is_in "$w" "$REPLY"; then path="${path:+$path }$w"
         else n=$((n + 1)); fi ;;
    esac
  done
  case "$cur" in
    -*=*) [ -z "$pending" ] && { pending="${cur%%=*}"; after="$pending="; cur="${cur#*=}"; } ;;
  esac
  if [ -n "$pending" ]; then _@FN@_table "val $path $pending" || _@FN@_table "val  $pending"; found="$REPLY"
  elif [ "${cur#-}" != "$cur" ]; then
    _@FN@_table "opts $path"; found="$REPLY"; _@FN@_table "opts "; found="$found $REPLY"
  elif _@FN@_table "sub $path"; then found="$REPLY"
  else _@FN@_table "arg $path $n" || _@FN@_table "arg $path *"; found="$REPLY"
  fi
  case "$found" in
    @files) compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$cur")); return ;;
    @folders) compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -d -- "$cur")); return ;;
    @*) found="$("${COMP_WORDS[0]}" "${asked[@]}" completion --words "${found#@}" 2>/dev/null)" ;;
  esac
  COMPREPLY=($(compgen -W "$found" -- "$cur"))
  case "$cur" in
    *:*) case "$COMP_WORDBREAKS" in *:*) COMPREPLY=("${COMPREPLY[@]#"${cur%"${cur##*:}"}"}") ;; esac ;;
  esac
  case "$after" in ?*) case "$COMP_WORDBREAKS" in
    *=*) ;;
    *) COMPREPLY=("${COMPREPLY[@]/#/$after}") ;;
  esac ;; esac
}
complete -F _@FN@ @NAMES@
"""

_ZSH = r"""#compdef @NAMES@
# completion of @NAME@ for zsh; made by `@NAME@ completion zsh`
_@FN@_table() {
  case "$1" in
@ROWS@
    (*) reply=(); return 1 ;;
  esac
}
_@FN@() {
  local -a reply found asked names
  local i w cur path_="" n=1 pending="" one
  cur="${words[CURRENT]}"
  for ((i = 2; i < CURRENT; i++)); do
    w="${words[i]}"
    if [[ -n "$pending" ]]; then
      [[ "$pending" == (--home|--cwd) ]] && asked+=("$pending" "${(Q)w}")
      pending=""; continue
    fi
    case "$w" in
@SHORT@
    esac
    case "$w" in
      (--home=*|--cwd=*) asked+=("${(Q)w}") ;;
      (-*=*) ;;
      (-*) if _@FN@_table "val $path_ $w" || _@FN@_table "val  $w"; then pending="$w"; fi ;;
      (*) _@FN@_table "sub $path_"; names=("${(@)reply%%:*}")
          if (( ${names[(Ie)$w]} )); then path_="${path_:+$path_ }$w"; else n=$((n + 1)); fi ;;
    esac
  done
  if [[ -z "$pending" && "$cur" == -*=* ]]; then
    pending="${cur%%=*}"; compset -P '*='
  fi
  if [[ -n "$pending" ]]; then _@FN@_table "val $path_ $pending" || _@FN@_table "val  $pending"; found=("${reply[@]}")
  elif [[ "$cur" == -* ]]; then
    _@FN@_table "opts $path_"; found=("${reply[@]}")
    [[ -n "$path_" ]] && { _@FN@_table "opts "; found+=("${reply[@]}"); }
  elif _@FN@_table "sub $path_"; then found=("${reply[@]}")
  else _@FN@_table "arg $path_ $n" || _@FN@_table "arg $path_ *"; found=("${reply[@]}")
  fi
  case "${found[1]}" in
    (@files*) _files; return ;;
    (@folders*) _files -/; return ;;
    (@*) one="${${found[1]}%%:*}"
         names=("${(@f)$("${(Q)words[1]}" "${asked[@]}" completion --words "${one#@}" 2>/dev/null)}")
         compadd -- "${(@)names:#}"; return ;;
  esac
  (( ${#found} )) && _describe word found
}
if [[ "${funcstack[1]}" == "_@FN@" ]]; then _@FN@ "$@"; else compdef _@FN@ @NAMES@; fi
"""

_FISH = r"""# completion of @NAME@ for fish; made by `@NAME@ completion fish`
function __@FN@_table
  switch $argv[1]
@ROWS@
    case '*'
      return 1
  end
end
function __@FN@_complete
  set -l line (commandline -opc)
  set -l cur (commandline -ct)
  set -l path ""
  set -l n 1
  set -l pending ""
  set -l asked
  set -l found
  for w in $line[2..-1]
    if test -n "$pending"
      contains -- $pending --home --cwd; and set -a asked $pending $w
      set pending ""
      continue
    end
    switch $w
@SHORT@
    end
    switch $w
      case '--home=*' '--cwd=*'
        set -a asked $w
      case '-*=*'
      case '-*'
        if __@FN@_table "val $path $w" >/dev/null; or __@FN@_table "val  $w" >/dev/null
          set pending $w
        end
      case '*'
        if contains -- $w (__@FN@_table "sub $path" | string replace -r '\t.*' '')
          set path (string trim "$path $w")
        else
          set n (math $n + 1)
        end
    end
  end
  set -l before ""
  if test -z "$pending"; and string match -q -- '-*=*' "$cur"
    set pending (string replace -r '=.*' '' -- $cur)
    set before "$pending="
  end
  if test -n "$pending"
    set found (__@FN@_table "val $path $pending"; or __@FN@_table "val  $pending")
  else if string match -q -- '-*' "$cur"
    set found (__@FN@_table "opts $path") (__@FN@_table "opts ")
  else if __@FN@_table "sub $path" >/dev/null
    set found (__@FN@_table "sub $path")
  else
    set found (__@FN@_table "arg $path $n"; or __@FN@_table "arg $path *")
  end
  switch "$found[1]"
    case '@files*'
      __fish_complete_path (string replace -- "$before" '' "$cur")
    case '@folders*'
      __fish_complete_directories (string replace -- "$before" '' "$cur")
    case '@*'
      $line[1] $asked completion --words (string replace -r '^@([a-z]+).*' '$1' -- $found[1]) 2>/dev/null
    case '*'
      for one in $found
        printf '%s%s\n' $before $one
      end
  end
end
for name in @NAMES@
  complete -c $name -f -a '(__@FN@_complete)'
end
"""


def script(shell: str, names: list[str], table: Table, short: Mapping[str, str]) -> str:
    """The script of *shell* for a program with all of *names*."""
    text, row, spelled = {
        "bash": (_BASH, _bash_row, "      {0}) w={1} ;;"),
        "zsh": (_ZSH, _zsh_row, "      ({0}) w={1} ;;"),
        "fish": (_FISH, _fish_row, "      case {0}\n        set w {1}"),
    }[shell]
    filled = {
        "ROWS": "\n".join(row(key, words) for key, words in table.items()),
        "SHORT": "\n".join(spelled.format(one, full) for one, full in short.items()),
        "NAMES": " ".join(names),
        "NAME": names[0],
        "FN": "".join(c if c.isascii() and c.isalnum() else "_" for c in names[0]),
    }
    for name, value in filled.items():
        text = text.replace(f"@{name}@", value)
    return text


def _quoted(text: str) -> str:
    """In single quotes, for bash and zsh."""
    return "'" + text.replace("'", "'\\''") + "'"


def _bash_row(key: str, words: list[tuple[str, str]]) -> str:
    return f"    {_quoted(key)}) REPLY={_quoted(' '.join(word for word, _ in words))} ;;"


def _zsh_row(key: str, words: list[tuple[str, str]]) -> str:
    entries = [_quoted(word.replace(":", "\\:") + (f":{text}" if text else "")) for word, text in words]
    return f"    ({_quoted(key)}) reply=({' '.join(entries)}) ;;"


def _fish_row(key: str, words: list[tuple[str, str]]) -> str:
    lines = [f"      printf '%s\\t%s\\n' {_fish(word)} {_fish(text)}" for word, text in words]
    return "\n".join([f"    case {_fish(key)}", *(lines or ["      true"])])


def _fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
