"""Who plays which part: the role of every purpose for which a model is called."""

from collections.abc import Mapping

from app.agents.arbiter import ARBITRATE
from app.agents.critic import REVIEW
from app.agents.judge import SELECT
from app.agents.role import Role
from app.agents.supervisor.plan import PLAN
from app.agents.supervisor.reduce import REDUCE
from app.agents.supervisor.refine import REFINE
from app.agents.supervisor.rule import RULE
from app.agents.supervisor.synthesize import SYNTHESIZE
from app.agents.verifier import VERIFY
from app.agents.worker.work import WORK
from app.domain.events import Purpose

ROLES: Mapping[Purpose, Role] = {
    "plan": PLAN,
    "work": WORK,
    "rule": RULE,
    "refine": REFINE,
    "select": SELECT,
    "reduce": REDUCE,
    "synthesize": SYNTHESIZE,
    "review": REVIEW,
    "arbitrate": ARBITRATE,
    "verify": VERIFY,
}
