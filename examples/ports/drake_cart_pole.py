"""Drake, underactuated robotics: the cart-pole's regulator from its URDF (drake 1.51.1).

The original: plant, parser, weld, linearisation by ports, LinearQuadraticRegulator; 14 statements. This: 9, from the
same text, whose <transmission> says that the pole has no motor. With --plot PATH the run is drawn.
"""

import tempfile
from pathlib import Path

import numpy as np
from port import picture, seconds

from dalembert import control, load

GAINS = [-3.162277660168324, 254.39247153992926, -9.76923594345295, 55.177394064307165]  # of drake 1.51.1
URDF = """<robot name="cartpole"><link name="rail"/>
<link name="cart"><inertial><mass value="10"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<link name="pole"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
<joint name="x" type="prismatic"><parent link="rail"/><child link="cart"/><axis xyz="1 0 0"/>
<limit lower="-10" upper="10" effort="1000" velocity="100"/></joint>
<joint name="theta" type="continuous"><parent link="cart"/><child link="pole"/><axis xyz="0 -1 0"/></joint>
<transmission name="t"><type>SimpleTransmission</type><joint name="x"/><actuator name="force"/></transmission>
</robot>"""

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "cartpole.urdf")
    path.write_text(URDF)
    cart_pole = load(path)
law = control.lqr(cart_pole, [0.0, np.pi], Q=[10.0, 10.0, 1.0, 1.0], R=1.0)
run = cart_pole.simulate([0.5, np.pi - 0.2], [0.0, 0.0], 40.0, law)

np.testing.assert_allclose(law.K[0], GAINS, rtol=1e-9)
assert not law.K[1].any(), "the pole has no motor"
np.testing.assert_allclose([*run.q[-1], *run.v[-1]], [0.0, np.pi, 0.0, 0.0], atol=1e-3)
elapsed = seconds(lambda: cart_pole.simulate([0.5, np.pi - 0.2], [0.0, 0.0], 40.0, law))
print(f"gains {law.K[0]}; {law.notes[0]}; 40 s in {1e3 * elapsed:.1f} ms")
picture(lambda path: run.plot().savefig(path))
