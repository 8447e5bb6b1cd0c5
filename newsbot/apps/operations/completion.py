"""``newsbot completion``: prints a script that completes commands and options in a shell.

The script contains all words, so that a shell need not start Python to complete one.
"""

from __future__ import annotations

from collections.abc import Iterator

from newsbot.cli.command import Action, Argument, Call, one_of
from newsbot.cli.program import OF_SCRAPY, all_commands
from newsbot.config.apps import known_apps, load

OF_ALL = "--json -s -L --logfile --nolog -h"
"""Options of all commands."""
SCRIPT = """\
# newsbot completion bash > ~/.local/share/bash-completion/completions/newsbot
# newsbot completion zsh > ~/.newsbot.zsh; and this line in ~/.zshrc:  source ~/.newsbot.zsh
_newsbot() {
    local words line=" ${COMP_WORDS[*]:1:$((COMP_CWORD-1))} "
    case "${COMP_WORDS[COMP_CWORD-1]}" in -a) line=" -a" ;; esac
    case "$line" in
%s
    esac
    COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
    case "${COMPREPLY[0]}" in *=) compopt -o nospace 2>/dev/null ;; esac
}
complete -o default -F _newsbot newsbot
"""
FOR_ZSH = "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n"


def completion(call: Call) -> None:
    """Run ``newsbot completion``: print the script for one shell."""
    cases = "\n".join(f'    "{pattern}"*) words="{words}" ;;' for pattern, words in _cases())
    call.text((FOR_ZSH if call.options.shell == "zsh" else "") + SCRIPT % cases, whole=True)


def _cases() -> Iterator[tuple[str, str]]:
    """Yield pairs: the beginning of a command line, and the words that can follow. The first one applies."""
    yield " -a", " ".join(f"{name}=" for name in load("newsbot.crawl.scope:HELP"))
    yield " crawl ", f"news search monitor -a -o -O {OF_ALL}"
    for app in known_apps().values():
        for name, (_, _, actions) in app.commands.items():
            yield from _of_command(name, load(actions))
    yield " ", " ".join([*all_commands(), *OF_SCRAPY])


def _of_command(name: str, actions: tuple[Action, ...]) -> Iterator[tuple[str, str]]:
    for action in actions:
        if action.name:
            yield f" {name} {action.name} ", _options(action)
    named = [action.name.split()[0] for action in actions if action.name]
    only = [_options(action) for action in actions if not action.name]
    yield f" {name} ", " ".join([*dict.fromkeys(named), *only] or [OF_ALL])


def _options(action: Action) -> str:
    flags = [argument.flags[-1] for argument in action.arguments if argument.flags[-1].startswith("-")]
    return " ".join([*flags, OF_ALL])


ACTIONS = (
    Action(
        "",
        "Print a script that completes commands and options in a shell",
        completion,
        Argument("shell", type=one_of("bash", "zsh"), metavar="SHELL", help="bash or zsh"),
    ),
)
