"""Robots of collections that are on this disk: `robot_descriptions:panda_description`, `menagerie:unitree_go2`.

Nothing is downloaded, and no code of a collection runs: the modules of robot_descriptions, which would fetch a
repository as soon as they are imported, are read as text.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from dalembert.errors import LISTED, DalembertError, unknown

CACHE = ("ROBOT_DESCRIPTIONS_CACHE", "~/.cache/robot_descriptions")  # the variable, and what holds without it
COMMIT = "ROBOT_DESCRIPTION_COMMIT"
CHECKOUT = "MUJOCO_MENAGERIE"  # variable that names a checkout of MuJoCo Menagerie
FILES = ("URDF_PATH", "MJCF_PATH", "XACRO_PATH")  # names in the modules of robot_descriptions, in the order of choice
NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)


class Located(NamedTuple):
    """The file of a robot, and the values of its xacro arguments."""

    file: str
    arguments: Mapping[str, Any]


def located(source: str) -> Located | None:
    """The file of a robot called COLLECTION:NAME; None for any other source."""
    collection, colon, name = source.partition(":")
    if not colon or collection not in COLLECTIONS:
        return None
    if not NAME.fullmatch(name):
        raise DalembertError(f"{source[:80]}: expected {collection}:NAME, such as {EXAMPLES[collection]}")
    return COLLECTIONS[collection](name)


def _described(name: str) -> Located:
    """A robot of the package robot_descriptions, from the checkout in its cache."""
    where = f"robot_descriptions:{name}"
    package = _folder_of("robot_descriptions")
    if package is None:
        raise DalembertError(f"{where}: the package is not installed: pip install robot_descriptions")
    modules = sorted(file.stem for file in package.glob("*_description.py") if not file.name.startswith("_"))
    if name not in modules:
        raise unknown("robot", name, modules, "robot_descriptions")
    values = _constants(package / f"{name}.py", lambda repository: str(_checkout(package, where, repository)))
    file = next((values[key] for key in FILES if key in values), None)
    if file is None:
        raise DalembertError(f"{where}: its module states none of {', '.join(FILES)}: load the file itself")
    if not os.path.isfile(file):
        raise DalembertError(f"{where}: there is no {file}; {_cure(name)}")
    return Located(file, values.get("XACRO_ARGS", {}))


def _checkout(package: Path, where: str, repository: str) -> Path:
    """The checkout of a repository in the cache of robot_descriptions."""
    text = (package / "_repositories.py").read_text("utf-8")
    listed = {
        key.value: {word.arg: word.value.value for word in entry.keywords if isinstance(word.value, ast.Constant)}
        for table in ast.walk(ast.parse(text))
        if isinstance(table, ast.Dict)
        for key, entry in zip(table.keys, table.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(entry, ast.Call)
    }
    place = str(listed.get(repository, {}).get("cache_path", repository))
    commit = os.environ.get(COMMIT)
    folder = _cache() / (place if commit is None else f"{place}-{commit}/{place}")
    if not folder.is_dir():
        raise DalembertError(f"{where}: not on this disk: there is no {folder}; {_cure(where.partition(':')[2])}")
    return folder


def _cure(name: str) -> str:
    return f"`python -m robot_descriptions pull {name}` downloads it; nothing is fetched from here"


def _cache() -> Path:
    return Path(os.environ.get(*CACHE)).expanduser()


def _constants(file: Path, checkout: Callable[[str], str]) -> dict[str, Any]:
    """The constants of a module: texts, dicts of them, joined paths, and checkouts that it asks its cache for."""
    known: dict[str, Any] = {}

    def value(node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return known[node.id]
        if not isinstance(node, ast.Call):
            return ast.literal_eval(node)
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called == "join":
            return os.path.join(*map(value, node.args))
        if called.strip("_") == "clone_to_cache":
            return checkout(value(node.args[0]))
        raise ValueError(called)

    for node in ast.parse(file.read_text("utf-8")).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        try:
            content = value(node.value)
        except DalembertError:
            raise
        except (ValueError, KeyError, TypeError):
            continue  # of no use for finding files
        known |= {target.id: content for target in targets if isinstance(target, ast.Name)}
    return known


def _menagerie(name: str) -> Located:
    """A robot of a checkout of MuJoCo Menagerie: its folder, or folder/file where that has several."""
    roots = [root for root in _menageries() if root.is_dir()]
    if not roots:
        cure = f"set {CHECKOUT} to a checkout of github.com/google-deepmind/mujoco_menagerie"
        raise DalembertError(f"menagerie:{name}: no checkout on this disk; {cure}")
    folder, _, stated = name.partition("/")
    if not (roots[0] / folder).is_dir():
        models = sorted(each.name for each in roots[0].iterdir() if any(each.glob("*.xml")))
        raise unknown("robot", folder, models, str(roots[0]))
    models = sorted(file.stem for file in (roots[0] / folder).glob("*.xml"))
    if stated and stated.removesuffix(".xml") not in models:
        raise unknown("file", stated, models, f"menagerie:{folder}")
    chosen = stated.removesuffix(".xml") or _main(folder, models)
    if not chosen:
        listed = ", ".join(f"menagerie:{folder}/{model}" for model in models[:LISTED])
        raise DalembertError(f"menagerie:{folder}: it has several models: name one, as {listed}")
    return Located(str(roots[0] / folder / f"{chosen}.xml"), {})


def _main(folder: str, models: list[str]) -> str:
    """The model that a folder is named after, as unitree_go2/go2.xml, or its only one beside scenes; "": neither."""
    robots = [model for model in models if not model.startswith("scene")]
    named = [model for model in robots if folder == model or folder.endswith(f"_{model}")]
    return max(named, key=len) if named else robots[0] if len(robots) == 1 else ""


def _menageries() -> list[Path]:
    """Where a checkout may lie, the one that is stated first."""
    stated = os.environ.get(CHECKOUT)
    if stated:
        return [Path(stated).expanduser()]
    playground = _folder_of("mujoco_playground")
    inside = [playground / "external_deps" / "mujoco_menagerie"] if playground is not None else []
    return [_cache() / "mujoco_menagerie", *inside, Path("mujoco_menagerie").absolute()]


def _folder_of(package: str) -> Path | None:
    """The folder of an installed package, which is not imported."""
    spec = find_spec(package)
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


COLLECTIONS: dict[str, Callable[[str], Located]] = {"robot_descriptions": _described, "menagerie": _menagerie}
EXAMPLES = {"robot_descriptions": "robot_descriptions:panda_description", "menagerie": "menagerie:unitree_go2"}
