"""``polysched completion``: print the completion script of a shell."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from polysched.machine.presets import ALIASES, PRESETS

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_POLYSCHED_COMPLETE"
_START_ZSH = "    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }\n"


def files(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete names of files, as it does for other programs."""
    return [CompletionItem(incomplete, type="file")]


def machines(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the names of machines; a path of a .toml file is left to the shell."""
    names = [name for name in ("host", *PRESETS, *ALIASES) if name.startswith(incomplete)]
    return [CompletionItem(name) for name in names] or files(_, __, incomplete)


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell: commands, options, machines and file names.

    \b
    eval "$(polysched completion bash)"                  # in ~/.bashrc
    eval "$(polysched completion zsh)"                   # in ~/.zshrc
    polysched completion fish > ~/.config/fish/completions/polysched.fish
    """
    maker: Any = get_completion_class(shell)
    group = context.find_root().command
    # The script is text with three names in it. `source()` would also start bash, for its version.
    script = maker(group, {}, "polysched", VARIABLE)
    text = script.source_template % script.source_vars()
    # Before compinit, zsh has no compdef, and a .zshrc need not call compinit.
    click.echo(text.replace("    compdef ", f"{_START_ZSH}    compdef "))
