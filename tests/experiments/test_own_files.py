"""An own module, data set or division that changed under its name: its runs are not pooled with the old."""

import functools
import importlib
import linecache
import shutil
import sys
from dataclasses import replace

import fake_federation
import numpy as np
import pytest
from fake_federation import BASE, Stop

from fedlib.errors import UsageError
from fedlib.experiments import runner
from fedlib.experiments.checkpoints import unfinished_groups
from fedlib.experiments.own_files import own_files
from fedlib.experiments.own_imports import own_imports
from fedlib.experiments.progress import Silent
from fedlib.experiments.store import Store
from fedlib.methods import METHODS
from fedlib.partition import PARTITIONS

CLASS = "from fedlib.methods import METHODS\n\n\nclass Tilt(METHODS['fedavg']):\n    pass\n"


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of the user's beside the store, and the run of its method."""
    fake_federation.install_for(monkeypatch, tmp_path)
    path = tmp_path / "own_tilt.py"
    path.write_text(CLASS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_tilt", raising=False)
    return path, replace(BASE, method="own_tilt:Tilt", method_options={})


def edit(path):
    """Another rule in the file, and a new process, which imports it anew."""
    path.write_text(CLASS + "# another rule\n")
    del sys.modules[path.stem]
    importlib.invalidate_caches()


def compute(run, store, progress=None, **options):
    return runner.run_runs([run], device="cpu", store=store, progress=progress or Silent(), **options)


def test_a_method_of_ones_own_that_changed_is_refused(module, store):
    path, run = module
    (stored,) = compute(run, store).runs
    assert stored.provenance["own"] == own_files(run)
    assert compute(run, store).computed == 0
    edit(path)
    for seed in (run.seed, run.seed + 1):
        with pytest.raises(UsageError, match=r"Tilt has changed since .* computed: .* deleting .*--delete"):
            compute(replace(run, seed=seed), store)
    assert compute(replace(run, method="fedavg"), store).computed == 1


def test_a_file_that_changed_after_its_import_is_refused(module, store):
    """The class at hand is the old one: neither stored nor fresh rows may take the new file's digest."""
    path, run = module
    (stored,) = compute(run, store).runs
    before = stored.provenance["own"]
    path.write_text(CLASS + "# another rule\n")
    for where in (store, Store(store.root / "fresh")):
        with pytest.raises(
            UsageError, match=r"own_tilt\.py has changed since this process imported it, whose"
        ):
            compute(run, where)
    assert own_files(run) == before
    importlib.reload(sys.modules["own_tilt"])
    assert own_files(run)["own_tilt:Tilt"] != before["own_tilt:Tilt"]


def test_a_module_of_ones_own_that_the_method_imports_counts_with_it(module, store):
    """Method, helper, and a package with a relative import that only a function reaches; not NumPy."""
    path, run = module
    folder = path.parent
    alone = own_files(run)
    (folder / "own_helper.py").write_text(
        "import numpy\n\n\ndef late():\n    from own_package import rules\n"
    )
    (folder / "own_package").mkdir()
    (folder / "own_package" / "__init__.py").touch()
    (folder / "own_package" / "rules.py").write_text("from . import sizes\nfrom ..above import it\n")
    sizes = folder / "own_package" / "sizes.py"
    sizes.write_text("STEP = 1\n")
    path.write_text(f"import own_helper\n{CLASS}")
    del sys.modules["own_tilt"]
    importlib.invalidate_caches()
    assert own_files(run) != alone
    names = ["own_helper", "own_package", "own_package.rules", "own_package.sizes"]
    assert list(own_imports(sys.modules["own_tilt"])) == names
    assert "own_package" not in sys.modules
    assert compute(run, store).computed == 1
    assert compute(run, store).computed == 0
    sizes.write_text("STEP = 2\n")
    with pytest.raises(UsageError, match=r"own_tilt:Tilt has changed since .* was computed"):
        compute(replace(run, seed=run.seed + 1), store)
    sizes.write_text("STEP = 1\n")
    (folder / "own_helper.py").write_text("import numpy\n")
    with pytest.raises(UsageError, match=r"own_helper\.py has changed since this process imported it, whose"):
        compute(run, store)
    del sys.modules["own_helper"]


@pytest.mark.parametrize(
    "changed", ["rule = 2", "def apply(self, task, state, cohort):\n        return None"]
)
def test_a_name_that_a_session_gives_to_another_class_is_refused(monkeypatch, tmp_path, store, changed):
    """As a cell of a notebook that is edited and executed again: classes without a file."""
    fake_federation.install_for(monkeypatch, tmp_path)

    def execute(body):
        cell = f"<cell {body}>"
        text = f"{CLASS.rpartition('    pass')[0]}    rule = 1\n    {body}\n"
        linecache.cache[cell] = len(text), None, text.splitlines(keepends=True), cell
        space = {"__name__": "__main__"}
        exec(compile(text, cell, "exec"), space)
        monkeypatch.setitem(METHODS, "tilt", space["Tilt"])

    run = replace(BASE, method="tilt", method_options={})
    execute("")
    assert compute(run, store).computed == 1
    execute("")
    assert compute(run, store).computed == 0
    execute(changed)
    with pytest.raises(UsageError, match=r"tilt has changed since .* was computed"):
        compute(replace(run, seed=run.seed + 1), store)


def test_a_function_of_the_session_has_the_digest_of_its_source(monkeypatch):
    def halves(labels, *, num_clients):
        return [[k] for k in range(num_clients)]

    monkeypatch.setitem(PARTITIONS, "halves", halves)
    run = replace(BASE, partition="halves", partition_options={})
    assert list(own_files(run)) == ["halves"]
    assert own_files(replace(BASE, partition="iid")) == {}
    monkeypatch.setitem(PARTITIONS, "halves", functools.partial(halves, num_clients=2))
    assert own_files(run) == {}


def test_what_was_begun_with_another_module_is_not_resumed(module, store):
    path, run = module
    with pytest.raises(KeyboardInterrupt):
        compute(run, store, Stop(3), checkpoint_seconds=0.0)
    edit(path)
    with pytest.raises(UsageError, match=r"own_tilt:Tilt has changed since .* was begun") as refused:
        compute(run, store)
    (begun,) = unfinished_groups(store, run.id, run.group_key)
    assert str(refused.value).endswith(f"or deleting {begun.path}")
    shutil.rmtree(begun.path)
    assert compute(run, store).computed == 1


def test_images_that_were_replaced_under_their_name_are_refused(tmp_path, monkeypatch, store):
    """Both methods' runs: a table would show them side by side."""
    monkeypatch.setenv("FEDLIB_DATA", str(tmp_path))
    draw = np.random.default_rng(0)

    def write(labels):
        images = draw.integers(0, 256, (40, 8, 8), dtype=np.uint8)
        arrays = {
            "train_images": images,
            "test_images": images,
            "train_labels": labels,
            "test_labels": labels,
        }
        np.savez(tmp_path / "mine.npz", **arrays)

    write(np.arange(40) % 4)
    run = replace(
        BASE, dataset="mine", dataset_options={}, model="mlp", model_options={}, num_clients=4, cohort_size=2,
        rounds=1, partition="iid", partition_options={}, method="fedavg", method_options={},
    )  # fmt: skip
    assert compute(run, store).computed == 1
    assert compute(replace(run, seed=1), store).computed == 1
    write(np.arange(40)[::-1] % 4)
    for other in (run, replace(run, method="fedprox", method_options={"mu": 0.1})):
        with pytest.raises(UsageError, match="mine has changed since"):
            compute(other, store)


def test_a_division_that_was_replaced_under_its_path_is_refused(tmp_path, monkeypatch, store):
    """Sizes 3, 1 and then 1, 3; a run stored before divisions were digested is held to nothing."""
    fake_federation.install_for(monkeypatch, tmp_path)
    path = tmp_path / "two.json"
    path.write_text('{"0": [0, 1, 2], "1": [3]}')
    run = replace(BASE, partition="from_file", partition_options={"path": str(path)})
    (stored,) = compute(run, store).runs
    assert list(stored.provenance["own"]) == [f"partition.path={path}"]
    assert compute(replace(run, seed=1), store).computed == 1
    path.write_text('{"0": [0], "1": [1, 2, 3]}')
    for seed in (run.seed, 2):
        with pytest.raises(UsageError, match=r"two\.json has changed since"):
            compute(replace(run, seed=seed), store)
    path.unlink()
    assert compute(run, store).computed == 0

    path.write_text('{"0": [0], "1": [1, 2, 3]}')
    for old in store.scan(run.id):
        rows = old.rows().to_dict("records")
        store.put(old.run, rows=rows, provenance={**old.provenance, "own": {}})
    assert compute(replace(run, seed=2), store).computed == 1


def test_a_division_is_digested_below_the_data_folder_too(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDLIB_DATA", str(tmp_path / "data"))
    run = replace(BASE, partition="from_file", partition_options={"path": "cuts/two.json"})
    assert own_files(run) == {}
    (tmp_path / "data" / "cuts").mkdir(parents=True)
    (tmp_path / "data" / "cuts" / "two.json").write_text("{}")
    assert own_files(run) == {"partition.path=cuts/two.json": "44136fa355b3678a"}  # sha256sum of {}
