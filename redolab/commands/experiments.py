"""Running experiments: one command an experiment, its options made from the experiment's factors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from redolab.commands.console import progress

if TYPE_CHECKING:
    from redolab.runs.factors import Factor


class _Experiments(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        from redolab.runs.experiment import experiment_names

        return experiment_names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        from redolab.runs.experiment import load_experiment
        from redolab.runs.factors import factors_of, read_factors
        from redolab.runs.session import run_experiment

        experiment = load_experiment(cmd_name)

        def run(**given: str | None) -> None:
            run_experiment(cmd_name, read_factors(experiment.factors, given), progress())

        options: list[click.Parameter] = [_option(each) for each in factors_of(experiment.factors)]
        return click.Command(cmd_name, params=options, callback=run, help=experiment.question)


def _option(factor: Factor) -> click.Option:
    default = f"  [default: {factor.default}]" if factor.default is not None and not factor.switch else ""
    return click.Option(
        [factor.option, factor.name],
        help=factor.about + default,
        metavar=None if factor.switch else factor.variable,
        is_flag=factor.switch,
        flag_value="on" if factor.switch else None,
    )


@click.group(cls=_Experiments)
def run() -> None:
    """Run an experiment."""


@click.command("make-experiment", hidden=True)
@click.argument("name")
def make_experiment(name: str) -> None:
    """What `make experiment NAME VAR=value` calls: the variables are read from the environment."""
    from redolab.runs.experiment import load_experiment
    from redolab.runs.factors import read_factors
    from redolab.runs.session import given_to_make, run_experiment

    factors = load_experiment(name).factors
    run_experiment(name, read_factors(factors, given_to_make(factors)), progress())
