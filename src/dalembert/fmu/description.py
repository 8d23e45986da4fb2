"""modelDescription.xml of both versions, and buildDescription.xml of FMI 3.0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lxml import etree

from dalembert.version import __version__

from .source import FILES
from .variables import Places, Variable

UNITS = {  # exponents of kg, m, s, rad
    "rad": (0, 0, 0, 1),
    "m": (0, 1, 0, 0),
    "rad/s": (0, 0, -1, 1),
    "m/s": (0, 1, -1, 0),
    "rad/s2": (0, 0, -2, 1),
    "m/s2": (0, 1, -2, 0),
    "/s": (0, 0, -1, 0),
    "1/s": (0, 0, -1, 0),
    "N": (1, 1, -2, 0),
    "N.m": (1, 2, -2, 0),
    "J": (1, 2, -2, 0),
    "kg": (1, 0, 0, 0),
    "kg.m": (1, 1, 0, 0),
    "kg.m2": (1, 2, 0, 0),
    "N.m.s/rad": (1, 2, -1, -1),
    "N.s/m": (1, 0, -1, 0),
    "N.m/rad": (1, 2, -2, -1),
    "N/m": (1, 0, -2, 0),
    "s": (0, 0, 1, 0),
}
BASES = ("kg", "m", "s", "rad")


@dataclass(frozen=True)
class Description:
    """Content of modelDescription.xml. identifier: name of the library; sources: whether it lists the C files."""

    name: str
    identifier: str
    token: str
    step: float
    has_steps: bool
    has_rates: bool
    variables: Sequence[Variable]
    places: Places

    def text(self, version: str) -> bytes:
        """The file; version: "2.0" or "3.0"."""
        root = self._fmi2() if version == "2.0" else self._fmi3()
        return bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True))

    def build(self) -> bytes:
        """buildDescription.xml, of FMI 3.0."""
        root = etree.Element("fmiBuildDescription", fmiVersion="3.0")
        configuration = etree.SubElement(root, "BuildConfiguration", modelIdentifier=self.identifier)
        files = etree.SubElement(configuration, "SourceFileSet", language="C99")
        for name in FILES:
            etree.SubElement(files, "SourceFile", name=name)
        return bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True))

    def _root(self, version: str, key: str) -> etree._Element:
        return etree.Element(
            "fmiModelDescription",
            {
                "fmiVersion": version,
                "modelName": xml_text(self.name),
                key: self.token,
                "description": f"Dynamics of robot {xml_text(self.name)}",
                "generationTool": f"dalembert {__version__}",
                "variableNamingConvention": "flat",
            },
        )

    def _kinds(self, root: etree._Element, version: str) -> None:
        """The elements of model exchange and co-simulation."""
        old = version == "2.0"
        common = {"modelIdentifier": self.identifier}
        states = "FMUstate" if old else "FMUState"
        able = {f"canGetAndSet{states}": "true", f"canSerialize{states}": "true"}
        slopes = {f"providesDirectionalDerivative{'' if old else 's'}": "true"}
        if self.has_rates:
            element = etree.SubElement(root, "ModelExchange", {**common, **able, **slopes})
            self._sources(element, old)
        if self.has_steps:
            more = (
                {"canHandleVariableCommunicationStepSize": "true"}
                if old
                else {"fixedInternalStepSize": repr(self.step)}
            )
            more |= {} if old else {"canHandleVariableCommunicationStepSize": "true"}
            element = etree.SubElement(
                root, "CoSimulation", {**common, **able, **more, **(slopes if self.has_rates else {})}
            )
            self._sources(element, old)

    def _sources(self, element: etree._Element, old: bool) -> None:
        if old:
            files = etree.SubElement(element, "SourceFiles")
            for name in FILES:
                etree.SubElement(files, "File", name=name)

    def _units(self, root: etree._Element) -> None:
        used = {x.unit for x in self.variables if x.unit} | {"s"}
        definitions = etree.SubElement(root, "UnitDefinitions")
        for name in sorted(used):
            unit = etree.SubElement(definitions, "Unit", name=name)
            exponents = {base: str(n) for base, n in zip(BASES, UNITS[name], strict=True) if n}
            etree.SubElement(unit, "BaseUnit", exponents)

    def _experiment(self, root: etree._Element) -> None:
        etree.SubElement(root, "DefaultExperiment", startTime="0.0", stopTime="1.0", stepSize=repr(self.step))

    def _fmi2(self) -> etree._Element:
        root = self._root("2.0", "guid")
        self._kinds(root, "2.0")
        self._units(root)
        self._experiment(root)
        listed = etree.SubElement(root, "ModelVariables")
        numbers = {x.place: k + 1 for k, x in enumerate(self.variables)}
        for x in self.variables:
            variable = etree.SubElement(listed, "ScalarVariable", self._attributes(x))
            real = {"unit": x.unit} if x.unit else {}
            if x.start is not None:
                real["start"] = repr(x.start)
            if x.derivative is not None:
                real["derivative"] = str(numbers[x.derivative])
            etree.SubElement(variable, "Real", real)
        structure = etree.SubElement(root, "ModelStructure")
        parts = (("Outputs", self._outputs), ("Derivatives", self._derivatives), ("InitialUnknowns", self._unknowns))
        for name, members in parts:
            if members:
                part = etree.SubElement(structure, name)
                for index in sorted(numbers[x.place] for x in members):
                    etree.SubElement(part, "Unknown", index=str(index))
        return root

    def _fmi3(self) -> etree._Element:
        root = self._root("3.0", "instantiationToken")
        self._kinds(root, "3.0")
        self._units(root)
        self._experiment(root)
        listed = etree.SubElement(root, "ModelVariables")
        time = {
            "name": "time",
            "valueReference": "0",
            "causality": "independent",
            "variability": "continuous",
            "unit": "s",
        }
        etree.SubElement(listed, "Float64", time)
        for x in self.variables:
            attributes = {**self._attributes(x), **({"unit": x.unit} if x.unit else {})}
            if x.derivative is not None:
                attributes["derivative"] = str(x.derivative)
            if x.start is not None:
                attributes["start"] = repr(x.start)
            etree.SubElement(listed, "Float64", attributes)
        structure = etree.SubElement(root, "ModelStructure")
        parts = (
            ("Output", self._outputs),
            ("ContinuousStateDerivative", self._derivatives),
            ("InitialUnknown", self._unknowns),
        )
        for name, members in parts:
            for x in members:
                etree.SubElement(structure, name, valueReference=str(x.place))
        return root

    def _attributes(self, x: Variable) -> dict[str, str]:
        attributes = {"name": xml_text(x.name), "valueReference": str(x.place)}
        attributes |= {
            "causality": x.causality,
            "variability": "tunable" if x.causality == "parameter" else "continuous",
        }
        if x.causality in ("output", "local"):
            attributes["initial"] = "exact" if x.start is not None else "calculated"
        return attributes

    @property
    def _outputs(self) -> list[Variable]:
        return [x for x in self.variables if x.causality == "output"]

    @property
    def _derivatives(self) -> list[Variable]:
        return [x for x in self.variables if x.derivative is not None]

    @property
    def _unknowns(self) -> list[Variable]:
        """Values that are computed at the beginning: outputs, rates and states of elements."""
        return [x for x in self.variables if x.start is None and x.causality in ("output", "local")]


def xml_text(text: str) -> str:
    """Text without characters that XML, or names of variables, cannot have."""
    allowed = (x if x.isprintable() and x not in "\ufffe\uffff" else "_" for x in text)
    return "".join(x if not 0xD800 <= ord(x) <= 0xDFFF else "_" for x in allowed)
