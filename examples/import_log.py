"""What a file says wrongly is named, with the place and the likely cause; strict=True refuses it."""

from dalembert import DalembertError, load

LINK = '<link name="{}"><inertial><origin xyz="0.2 0 0"/><mass value="{}"/><inertia {}/></inertial></link>'
ROD = 'ixx="0.001" ixy="0" ixz="0" iyy="0.027" iyz="0" izz="0.027"'
JOINT = """
<joint name="{}" type="revolute"><parent link="{}"/><child link="{}"/><axis xyz="0 0 1"/>
<origin xyz="0.4 0 0"/><limit lower="-{x}" upper="{x}" effort="10" velocity="2"/></joint>
"""
TEXT = f"""<robot name="slips">
{LINK.format("base", 5, ROD)}
{LINK.format("upper", 2, ROD)}
{LINK.format("fore", 2000, ROD)}
{JOINT.format("shoulder", "base", "upper", x=2)}
{JOINT.format("elbow", "upper", "fore", x=170)}
</robot>"""

robot = load(TEXT)
for finding in robot.import_log:
    print(finding)
causes = [finding.what.partition("likely cause: ")[2] for finding in robot.import_log]
assert causes[0] == "degrees, expected radians"
assert causes[1].startswith("mass in grams")

try:
    load(TEXT, strict=True)
except DalembertError as error:
    print("refused:", str(error).splitlines()[0])
else:
    raise AssertionError("strict=True must refuse")
