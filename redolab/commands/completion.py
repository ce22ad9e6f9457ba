"""Completion in a shell: the command that prints the shell's script."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_REDOLAB_COMPLETE"
"""Environment variable in which a shell asks for completion."""


@click.command()
@click.argument("shell", type=click.Choice(SHELLS), metavar="SHELL")
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what a shell reads to complete commands, experiments and options.

    SHELL is bash, zsh or fish. In bash: eval "$(redolab completion bash)".
    """
    from click.shell_completion import get_completion_class

    script = get_completion_class(shell)
    assert script is not None
    root = context.find_root()
    click.echo(script(root.command, {}, root.info_name or "redolab", VARIABLE).source())
