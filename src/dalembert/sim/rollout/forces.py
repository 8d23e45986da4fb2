"""Forces of contacts in the recorded states of a rollout."""

from __future__ import annotations

import numpy as np

from dalembert.errors import DalembertError

from ..integrators.catalogue import TIME_STEPPING
from ..run.compiled import Programs
from ..run.observed_contacts import contacts_of
from .motions import Motions
from .result import RolloutContacts


def with_forces(contacts: RolloutContacts | None, motions: Motions, q: np.ndarray, e: np.ndarray) -> RolloutContacts:
    """The report with the forces in states q (…, nq), e (…, ne), the mean over the step that led to each."""
    system, batch = motions.stepping.system, q.shape[:-1]
    if system.contact is None or contacts is None:
        raise DalembertError("rollout: forces: expected contact=Contact(…) of model='rigid', which has contact forces")
    if not isinstance(q, np.ndarray):
        raise DalembertError("rollout: forces: expected NumPy arrays: those of other libraries have no forces here")
    q, e = (np.asarray(x, float).reshape(-1, x.shape[-1]) for x in (q, e[..., : system.ne]))
    programs = Programs(system, TIME_STEPPING, motions.stepping.identity)
    seen = contacts_of(programs, np.zeros(len(q)), q, e, np.zeros((len(q), system.nu)), motions.step)
    assert seen is not None
    force, moment = (x.reshape(*batch, *x.shape[1:]) for x in (seen.force, seen.moment))
    return contacts._replace(names=seen.names, bodies=seen.bodies, force=force, moment=moment)
