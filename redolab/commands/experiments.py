"""Running experiments: one command an experiment, its options made from the experiment's factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from redolab.commands.console import progress
from redolab.errors import InvalidInput

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from redolab.runs.factors import Factor

_MACHINE, _PROVIDER, _CLUSTER = "machine", "provider", "cluster"
_SERVER, _IMAGE, _RESUME = "server", "image", "resume"
"""Fields of the experiments' factors that decide the machine, and the servers that the machine is given."""
_MARGINS = 6
"""Characters that click leaves free in a line of its list of commands."""


class _Experiments(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        from redolab.runs.experiment_names import experiment_names

        return experiment_names()

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        # click would load every experiment for its help.
        names = [] if incomplete.startswith("-") else self.list_commands(ctx)
        found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        from redolab.runs.factors import factors_of
        from redolab.runs.loading import BrokenExperiment, load_experiment

        try:
            experiment = load_experiment(cmd_name)
        except (BrokenExperiment, InvalidInput):
            if ctx.resilient_parsing:
                # A shell that completes a line takes no errors.
                return click.Command(cmd_name)
            raise

        def run(**given: str | None) -> None:
            _run_anywhere(cmd_name, given)

        options: list[click.Parameter] = [_option(each) for each in factors_of(experiment.factors_type)]
        return click.Command(cmd_name, params=options, callback=run, help=experiment.question)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from redolab.runs.loading import BrokenExperiment

        found, broken = {}, []
        for name in self.list_commands(ctx):
            try:
                found[name] = self.get_command(ctx, name)
            except BrokenExperiment as error:
                broken.append(error)
        width = formatter.width - max(map(len, found)) - _MARGINS
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(width)) for name, command in found.items()])
        for each in broken:
            formatter.write(f"\n{each}\n")


def _option(factor: Factor) -> click.Option:
    names = [factor.option, factor.name]
    if factor.switch:
        return click.Option(names, help=factor.about, is_flag=True, flag_value="on")
    default = "" if factor.default is None else f"  [default: {factor.default}]"
    return click.Option(names, help=factor.about + default, metavar=factor.variable)


@click.group(cls=_Experiments)
def run() -> None:
    """Run an experiment."""


@click.command("make-experiment", hidden=True)
@click.argument("name")
def make_experiment(name: str) -> None:
    """Run an experiment for `make experiment NAME VAR=value`, with the variables from the environment."""
    from redolab.runs.loading import load_experiment
    from redolab.runs.session import given_to_make

    _run_anywhere(name, given_to_make(load_experiment(name).factors_type))


def _run_anywhere(name: str, given: Mapping[str, str | None]) -> None:
    """Run an experiment with these texts of its factors, on the machine that one of them names."""
    from redolab.commands import cluster
    from redolab.commands.machines import run_on
    from redolab.machines.remote.address import LOCAL, parse_machine
    from redolab.machines.virtual.vagrant import GUEST
    from redolab.runs.factors import factors_of, read_factors
    from redolab.runs.loading import load_experiment
    from redolab.runs.session import run_experiment

    factors = load_experiment(name).factors_type
    where, provider = given.get(_MACHINE) or LOCAL, given.get(_PROVIDER)
    if provider and where != GUEST:
        raise InvalidInput(f"PROVIDER={provider} is of a virtual machine", f"say MACHINE={GUEST} too")
    address = parse_machine(f"{where}:{provider}" if provider else where)
    if given.get(_CLUSTER):
        if address is not None:
            raise InvalidInput("--machine (MACHINE=) is one machine and --cluster (CLUSTER=) many", "give one of them")
        cluster.run_on(given[_CLUSTER] or "", name, given)
        return
    if address is None:
        run_experiment(name, read_factors(factors, given), progress())
        return
    # Do not read it here: a folder in `storage=` or a server of the user's own is on that machine.
    options = [
        word
        for each in factors_of(factors)
        if each.name not in (_MACHINE, _PROVIDER) and (text := given.get(each.name)) is not None
        for word in _words(each, text)
    ]
    run_on(address, ["run", name, *options], _servers(factors_of(factors), given))


def _words(factor: Factor, text: str) -> list[str]:
    """Return a factor as options of the command line."""
    if factor.switch:
        return [factor.option] if factor.parse(text) else []
    return [factor.option, text]


def _servers(factors: Sequence[Factor], given: Mapping[str, str | None]) -> Sequence[str]:
    """Return the servers that another machine must be given; it has those of a run that it resumes."""
    from redolab.runs.factors import words

    factor = next((each for each in factors if each.name == _SERVER), None)
    if factor is None or given.get(_RESUME) is not None:
        return ()
    # Without another server, an image is recovered by the server that it was made with, which its machine has.
    names = given.get(_SERVER) or (None if given.get(_IMAGE) else factor.default)
    return words(factor.parse(names)).split(",") if names else ()
