"""A robot written as URDF, MJCF, SDF and a DH table: read back, each has the same dynamics."""

import tempfile
from pathlib import Path

import numpy as np

from dalembert import DalembertError, load

robot = load("ur5")
q, v, a = np.array([0.1, -1.2, 0.8, 0.3, -0.5, 1.0]), np.full(6, 0.5), np.full(6, 2.0)
tau = robot.inverse_dynamics(q, v, a)

with tempfile.TemporaryDirectory() as folder:
    for ending in (".urdf", ".xml", ".sdf", ".dh.toml"):
        path = Path(folder, f"ur5{ending}")
        findings = robot.save(path)  # what the file says otherwise than the robot, or cannot say
        print(f"{path.name}: {path.stat().st_size} bytes", *findings, sep="\n  ")
        try:
            again = load(path)
        except DalembertError as error:  # MJCF is read through MuJoCo, which is an extra
            assert "pip install" in str(error)
            continue
        np.testing.assert_allclose(again.inverse_dynamics(q, v, a), tau, atol=1e-11)

    # what a format cannot say is an error, unless what comes nearest is asked for
    panda, path = load("panda"), Path(folder, "panda.sdf")
    try:
        panda.save(path)
    except DalembertError as error:
        print(error)
        assert "slip speed" in str(error) and not path.exists()
    (warning,) = panda.save(path, approximate=True)
    print(warning)
    assert warning.severity == "warning" and load(path).nv == 7
