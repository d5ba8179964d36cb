"""A visit without a request, for what takes one."""

from app.api.keyring import KeyRing
from app.api.shared_looks import SharedLooks
from app.api.visits import Visit
from app.domain.keys import ANYBODY
from app.runtime import Runtime


def visit_of(runtime: Runtime) -> Visit:
    """Somebody who comes while keys are not asked for."""
    return Visit(runtime, SharedLooks(runtime.database), ANYBODY, KeyRing(lambda: runtime.database))
