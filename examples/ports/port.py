"""What the ports share: the time that a call takes, the picture that --plot PATH asks for, robots of MJCF texts."""

import sys
import tempfile
import time
from pathlib import Path

from dalembert import load

TOP = """<mujoco model="top"><option integrator="RK4"/><worldbody><geom size="1 1 .01" type="plane"/>
<body name="top" pos="0 0 .02"><freejoint/><geom type="sphere" size=".02"/>
<geom type="cylinder" pos="0 0 .02" size=".004 .008"/>
<geom type="box" size=".023 .023 .005" pos="0 0 -.015" contype="0" conaffinity="0" group="3"/>
</body></worldbody></mujoco>"""


def seconds(call, times=20):
    """Least CPU time of some calls [s]. The first one also tells when a fresh process had its first result."""
    if "--first" in sys.argv:
        print(f"first result after {time.process_time():.1f} s of CPU time")
        sys.exit()
    call()
    elapsed = []
    for _ in range(times):
        begin = time.process_time()
        call()
        elapsed.append(time.process_time() - begin)
    return min(elapsed)


def picture(draw):
    """Call draw(path) where the script was started with --plot PATH."""
    if "--plot" in sys.argv:
        draw(sys.argv[-1])


def loaded(text):
    """The robot of an MJCF text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.xml")
        path.write_text(text)
        return load(path)
