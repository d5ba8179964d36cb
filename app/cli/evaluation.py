"""`chargehand eval`, which starts a service of this process's own where it is told of none."""

from app.cli.processes import served_here
from app.evaluation.command import eval_command

evaluate = eval_command(served_here)
