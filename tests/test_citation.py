"""codemeta.json says what CITATION.cff and pyproject.toml say."""

import json
import tomllib

import yaml
from project_files import ROOT

import fedlib
from tools.codemeta import text


def test_codemeta_is_made_of_the_citation():
    assert (ROOT / "codemeta.json").read_text() == text(), "run python tools/codemeta.py"


def test_versions_and_licence_agree():
    meta = json.loads((ROOT / "codemeta.json").read_text())
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert meta["version"] == cited["version"] == project["version"] == fedlib.__version__
    assert meta["license"].endswith(project["license"])
    assert len(meta["referencePublication"]) == 4
    assert meta["referencePublication"][0]["@id"] == "https://doi.org/10.1145/3545008.3545085"
