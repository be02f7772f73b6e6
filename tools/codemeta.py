"""codemeta.json, made of CITATION.cff and pyproject.toml: `python tools/codemeta.py`."""

import json
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]


def codemeta(root: Path = ROOT) -> dict[str, Any]:
    """The software's description in CodeMeta 3.0."""
    cited = yaml.safe_load((root / "CITATION.cff").read_text())
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": project["name"],
        "alternateName": cited["title"],
        "description": project["description"],
        "version": cited["version"],
        "license": f"https://spdx.org/licenses/{cited['license']}",
        "author": [_author(person) for person in cited["authors"]],
        "keywords": cited["keywords"],
        "programmingLanguage": {"@type": "ComputerLanguage", "name": "Python"},
        "runtimePlatform": f"Python {project['requires-python']}",
        "softwareRequirements": project["dependencies"],
        "referencePublication": [_publication(one) for one in cited["references"]],
    }


def _author(person: dict[str, str]) -> dict[str, str]:
    if "name" in person:
        return {"@type": "Organization", "name": person["name"]}
    return {"@type": "Person", "givenName": person["given-names"], "familyName": person["family-names"]}


def _publication(one: dict[str, Any]) -> dict[str, Any]:
    identity = {"@id": f"https://doi.org/{one['doi']}"} if "doi" in one else {}
    year = {"datePublished": str(one["year"])} if "year" in one else {}
    authors = [_author(person) for person in one["authors"]]
    return {"@type": "ScholarlyArticle", **identity, "name": one["title"], "author": authors, **year}


def text(root: Path = ROOT) -> str:
    return json.dumps(codemeta(root), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    (ROOT / "codemeta.json").write_text(text())
