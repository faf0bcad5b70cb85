"""An image and its parts as a CycloneDX document."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import (
    ExternalReference,
    ExternalReferenceType,
    HashAlgorithm,
    HashType,
    Property,
    XsUri,
)
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from bmc.report import Model
from tools.report.report import Image
from tools.report.sbom.parts import Part

# Where documents get their serial numbers from, which depend on nothing but what is in them.
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://cyclonedx.org/ironcast")


def _sha256(digest: str) -> HashType:
    return HashType(alg=HashAlgorithm.SHA_256, content=digest)


def _properties(**values: str) -> list[Property]:
    return [Property(name=f"ironcast:{name}", value=value) for name, value in values.items()]


def image(name: str, sha256: str, report: Image) -> Component:
    """The firmware itself; `sha256` is its ELF's."""
    return Component(
        name=name,
        type=ComponentType.FIRMWARE,
        bom_ref="image",
        hashes=[_sha256(sha256)],
        properties=_properties(board=report.board, isa=report.models[0].isa),
    )


def model(report: Model) -> Component:
    """A model of the image, as the compiler's report has it: the user's, with whatever license it has."""
    return Component(
        name=report.name,
        type=ComponentType.MACHINE_LEARNING_MODEL,
        bom_ref=f"model:{report.name}",
        scope=ComponentScope.REQUIRED,
        hashes=[_sha256(report.sha256["weights.bin"])],
        properties=_properties(
            frontend=report.frontend,
            hashed="the weights in the image",
            on_target="weights, plan and kernels",
            source=report.source,
        ),
    )


def runtime(version: str) -> Component:
    """Ironcast's own code on the target."""
    return Component(
        name="ironcast",
        version=version,
        type=ComponentType.LIBRARY,
        bom_ref="ironcast",
        scope=ComponentScope.REQUIRED,
        licenses=[LicenseFactory().make_from_string("Apache-2.0")],
        properties=_properties(on_target="the runtime and the board's code"),
    )


def part(about: Part) -> Component:
    """Third-party software: required if some of it is on the target, otherwise excluded."""
    references = []
    if about.sha256s:
        references.append(
            ExternalReference(
                type=ExternalReferenceType.DISTRIBUTION,
                url=XsUri(about.purl),
                comment="one of these files, as the lock accepts them",
                hashes=[_sha256(digest) for digest in about.sha256s],
            )
        )
    kept = {"on_target": about.on_target} if about.on_target else {}
    return Component(
        name=about.name,
        version=about.version or None,
        type=ComponentType.LIBRARY if about.on_target else ComponentType.APPLICATION,
        bom_ref=about.purl,
        purl=PackageURL.from_string(about.purl),
        description=about.why,
        scope=ComponentScope.REQUIRED if about.on_target else ComponentScope.EXCLUDED,
        licenses=[LicenseFactory().make_from_string(about.license)] if about.license else [],
        external_references=references,
        properties=_properties(**kept),
    )


def text(whole: Component, parts: Sequence[Component]) -> str:
    """Returns the document as JSON: the same parts give the same bytes, without a time or a place."""
    bom = Bom(components=parts)
    bom.metadata.component = whole
    bom.register_dependency(whole, parts)
    made = json.loads(JsonV1Dot6(bom).output_as_string())
    del made["metadata"]["timestamp"], made["serialNumber"]
    content = json.dumps(made, sort_keys=True)
    made["serialNumber"] = uuid.uuid5(_NAMESPACE, content).urn
    return json.dumps(made, indent=2, sort_keys=True) + "\n"
