"""One table of bad inputs: each is one line that says what was given and what is allowed."""

# ruff: noqa: E501

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import fake_federation
import numpy as np
import pytest
from bad_files import (
    DEEP,
    XRAYS,
    array,
    cached,
    committed,
    crisis,
    cut,
    encrypted,
    folder_at,
    forged_shape,
    leaf,
    link,
    newer_field,
    notebook,
    npz,
    over,
    parquet,
    rewritten,
    stored,
    text,
)  # fmt: skip

import fedlib.federation
from fedlib.cli.main import main
from fedlib.data import torchvision_sets
from fedlib.reporting import notebook_runner, reproduce, site


@dataclass(frozen=True)
class Row:
    """A command with `{tmp}` for the folder of the test, what its line says, its exit status.

    prepare: writes bad files. environment: as `{tmp}` above. trains: with the real round loop, which may have
    begun before the line. Status 0: the line is a warning.
    """

    command: str
    says: str
    status: int = 2
    prepare: Callable[[Path], object] | None = None
    environment: dict[str, str] = field(default_factory=dict)
    name: str = ""
    trains: bool = False

    def __str__(self) -> str:
        return self.name or self.command[:60]


def setting(value, says):
    return Row(f"run fake/grid --set {shlex.quote(value)}", says)


def data(name, prepare, says, dataset="tiny", status=2):
    return Row(f"data fetch {dataset}", says, status, prepare, name=f"data: {name}")


RUN = "run fake/grid "
FIRST = [
    Row("run fake/gird", "unknown artifact or paper 'fake/gird' (did you mean 'fake/grid'?); allowed: "),
    Row("run fake/grid --profile full", "unknown profile 'full'; allowed: smoke, reduced, extended, paper"),
    Row("run fake/grid --data minst", "unknown data set 'minst' (did you mean 'mnist'?); allowed: "),
    Row("run fake/grid --partition idd", "unknown partition 'idd' (did you mean 'iid'?); allowed: iid, "),
    Row("run fake/grid --method fedavgg", "unknown method 'fedavgg' (did you mean 'fedavg'?); allowed: "),
    Row(
        "run fake/grid --only fedavg --only fedvag",
        "--only 'fedvag' given; allowed: a part of a line of --dry-run, such as 'fake/grid ",
    ),
    Row("run fake/grid --set model=lenett", "unknown model 'lenett' (did you mean 'lenet'?); allowed: "),
    Row("run fake/grid --set partition.delta=1", "unknown option of partition 'iid' 'delta'; allowed: none"),
    Row(
        "run fake/grid --partition ce --set partition.dleta=1",
        "unknown option of partition 'ce' 'dleta' (did you mean 'delta'?)",
    ),
    Row("run fake/grid --partition ce --set partition.delta=x", "delta='x' given; allowed: a number"),
    Row("run fake/grid --partition ce --set partition.delta=1.4", "delta is 1.4; allowed: a number in"),
    Row("run fake/grid --partition ce --set partition.delta=1.4 --dry-run", "allowed: a number in (0, 1]"),
    Row("run fake/grid --set method.nu=1 --method fedprox", "unknown option of method 'fedprox' 'nu'"),
    Row("run fake/grid --set method.mu=big --method fedprox", "mu='big' given; allowed: a number"),
    Row(
        "run fake/grid --set method.workers=1.5 --method feddrl", "workers=1.5 given; allowed: a whole number"
    ),
    Row(
        "run fake/grid --set method.mu=null --method fedprox",
        "mu=null given; allowed: a number (default 0.01)",
    ),
    Row(
        "run fake/grid --set method.w1=null --method fedddrl",
        "w1=null given; allowed: a number (default 2.9)",
    ),
    Row(
        "run fake/grid --set method.w1=true --method fedddrl",
        "w1=true given; allowed: a number (default 2.9)",
    ),
    Row(
        "run fake/grid --set method.state=null --method feddrl",
        "state=null given; allowed: text (default",
    ),
    Row(
        "run fake/grid --set method.bias=big --method fedddrl", "bias='big' given; allowed: a number or null"
    ),
    Row(
        "run fake/grid --set dataset.train_per_clas=3",
        "'train_per_clas' (did you mean 'train_per_class'?); allowed: ",
    ),
    Row(
        "run fake/grid --set method=fedavg --method fedprox",
        "--set method and --method given; allowed: one of them",
    ),
    Row(
        "run fake/grid --set dataset.mean=[0,null]",
        "mean=[0, null] given; allowed: a list of number",
    ),
    Row(
        "run fake/grid --partition majority --set partition.sigma=null", "sigma=null given; allowed: a number"
    ),
    Row(
        "run fake/grid --set model=lenet --set local_optimizer.momentum=null",
        "momentum=null given; allowed: a",
    ),
    Row(
        "run fake/grid --method fedddrl",
        "method 'fedddrl' needs images on the server, and it has none; allowed: the data-set option",
    ),
    Row("run fake/grid --set local_steps=many", "local_steps='many' given; allowed: a whole number or null"),
    Row("run fake/grid --set device_costs=1", "device_costs=1 given; allowed: "),
    Row(
        "run fake/grid --method fedavg --set episode_rounds=3",
        "rounds=8 given for episodes of episode",
    ),
    Row(
        "run fake/grid --method fedmarl --set method.adjust_epochs=true",
        "of method 'fedmarl' 'adjust_epochs'",
    ),
    Row(
        "run fake/grid --method fedmarl --set method.epoch_choices=[5]", "of method 'fedmarl' 'epoch_choices'"
    ),
    Row(
        "run fake/grid --method fewest_epochs --set method.keep_share=0.5",
        "method 'fewest_epochs' has no options, but 'keep_share' was given",
    ),
    Row("run fake/grid --method random_drop --set method.epoch_choices=[5]", "'random_drop' 'epoch_choices'"),
    Row(
        "run fake/grid --set dataset.server_share=all", "server_share='all' given; allowed: a number or null"
    ),
    Row(
        "run fake/grid --set round=3", "unknown setting 'round' (did you mean 'rounds'?); allowed: dataset, "
    ),
    Row("run fake/grid --set seed=3", "unknown setting 'seed'"),
    Row("figures nonsense", "unknown paper 'nonsense'; allowed: "),
    Row("figures --check --profile paper", "argument --profile: not allowed with argument --check"),
    Row("figures start --profile full", "unknown profile 'full'; allowed: smoke, reduced, extended, paper"),
    Row("run fake/grid --set rounds=many", "rounds='many' given; allowed: a whole number"),
    Row("run fake/grid --set rounds=true", "rounds=true given; allowed: a whole number"),
    Row("run fake/grid --set rounds", "setting 'rounds' given; allowed: key=value"),
    Row("run fake/grid --set local_optimizer=sdg", "unknown local optimizer 'sdg' (did you mean 'sgd'?)"),
    Row("run fake/grid --seeds some", "seeds 'some' given; allowed: a count such as 3, or a list"),
    Row("run fake/grid --seeds 0", "a count of 1 to 1000, or a list; seed 0 alone is written '0,'"),
    Row("run fake/grid --device gpu", "device 'gpu' given; allowed on this machine: auto, cpu"),
    Row("run fake/grid --device gpu --dry-run", "device 'gpu' given; allowed: auto, cpu, cuda, cuda:<n>"),
    Row("run fake/grid --budget-minutes 0", "time budget of 0.0 minutes given; allowed: above 0"),
    Row("run fake/grid --budget-minutes soon", "invalid float value: 'soon'"),
    Row("run fake/grid --max-clients-per-pass 0", "max_clients_per_pass=0 given; allowed: 1 or more"),
    Row("run fake/grid --processes 0", "processes=0 given; allowed: 1 or more"),
    Row("run fake/grid --max-replicas 0", "max_replicas=0 given; allowed: 1 or more"),
    Row("run", "the following arguments are required: ID"),
    Row("walk", "invalid choice: 'walk'"),
    Row("", "the following arguments are required: command"),
    Row("list fedrl", "unknown artifact or paper 'fedrl' (did you mean 'feddrl'?); allowed: "),
    *(
        Row(f"verdicts --write-docs {given}", "--write-docs given with an ID, --profile or --store; allowed:")
        for given in ("start", "--profile paper", "--store build/runs")
    ),
    Row("verdicts --profile huge", "unknown profile 'huge'; allowed: smoke, reduced, extended, paper"),
    Row(
        "export fake/grid --profile smoke",
        "profile 'smoke' given; allowed for export: reduced, extended, paper",
    ),
    Row("export fake/grid --profile paper", "nothing stored for fake/grid at profile 'paper'"),
    Row("data fetch", "data fetch needs a name; allowed: "),
    Row("data fetch minst", "unknown data set 'minst'"),
]

COMMANDS = [
    Row("export fake/grid --profile reduced --every 0", "every=0 given; allowed: 1 or more"),
    Row("export fake/grid --profile reduced --every -1", "every=-1 given; allowed: 1 or more"),
    Row("export fake/grid --profile reduced --every x", "invalid int value: 'x'"),
    Row("export fake/grid", "the following arguments are required: --profile"),
    Row("export nonsense --profile reduced", "unknown artifact 'nonsense'"),
    Row(RUN + "--checkpoint-seconds nan", "checkpoint_seconds=nan given; allowed: 0 or more"),
    Row(RUN + "--checkpoint-seconds inf", "checkpoint_seconds=inf given; allowed: 0 or more"),
    Row(RUN + "--checkpoint-seconds -1", "checkpoint_seconds=-1.0 given; allowed: 0 or more"),
    Row(RUN + "--checkpoint-seconds=-inf", "checkpoint_seconds=-inf given; allowed: 0 or more"),
    Row(RUN + "--checkpoint-seconds x", "invalid float value: 'x'"),
    Row(RUN + "--seeds 30000000", "seeds '30000000' given; allowed: a count of 1 to 1000"),
    Row(RUN + "--seeds 99999999999", "of up to 9 digits each"),
    Row(RUN + "--seeds " + "9" * 5000, "99999...' given; allowed: a count such as 3", name="5,000 digits"),
    Row(RUN + "--seeds -1", "seeds '-1' given; allowed: a count such as 3"),
    Row(RUN + "--seeds 1,-2", "seeds '1,-2' given; allowed: a count such as 3"),
    Row(RUN + "--seeds 1.5", "seeds '1.5' given; allowed: a count such as 3"),
    Row(RUN + "--seeds ²", "seeds '²' given; allowed: a count such as 3"),
    Row(RUN + "--seeds ,", "seeds ',' given; allowed: a count such as 3"),
    Row(RUN + "--processes x", "invalid int value: 'x'"),
    Row(RUN + "--processes -3", "processes=-3 given; allowed: 1 or more"),
    Row(RUN + "--budget-minutes nan", "time budget of nan minutes given; allowed: above 0"),
    Row(RUN + "--budget-minutes -5", "time budget of -5.0 minutes given; allowed: above 0"),
    Row(RUN + "--max-clients-per-pass 1.5", "invalid int value: '1.5'"),
    Row(RUN + "--max-replicas -1", "max_replicas=-1 given; allowed: 1 or more"),
    Row(RUN + "--device cuda:99", "device 'cuda:99' given; allowed on this machine: auto, cpu"),
    Row(RUN + "--bogus", "unrecognized arguments: --bogus"),
    Row("run fake/grid fake/gird", "unknown artifact or paper 'fake/gird'"),
    Row("run " + "x" * 300, "xxx...'; allowed: ", name="an artifact of 300 characters"),
    Row(
        "run start/curves --method fedddrl --set method.agent=permuted",
        "'permuted' given (did you mean method.reward_order=permuted?); allowed: a whole number",
    ),
    Row(
        "run start/curves --method fedddrl --set method.agent=untrained",
        "'untrained' given (did you mean method.episodes=0?); allowed: a whole number",
    ),
    Row(
        "run start/curves --method schedulerfl --set method.agent=untrained",
        "'agent' (did you mean method.policy=untrained?); allowed: ",
    ),
    Row("figures --check --out {tmp}", "--check and --out given; allowed: one of them"),
    Row("notebooks --timeout nan", "invalid int value: 'nan'"),
    Row("notebooks --timeout 2.5", "invalid int value: '2.5'"),
    Row("notebooks --timeout 0", "cell timeout 0 s given; allowed: 1 or more"),
    Row("notebooks --profile huge", "unknown profile 'huge'"),
    Row("notebooks nonsense", "unknown notebook 'nonsense'"),
    Row("notebooks {tmp}/no.ipynb", "no notebook '"),
    Row("report --paper nonsense", "unknown paper 'nonsense'"),
    Row("reproduce --profile huge", "unknown profile 'huge'"),
    Row("reproduce --paper nonsense", "unknown paper 'nonsense'"),
    Row("data walk", "invalid choice: 'walk'"),
    Row("data check minst", "unknown data set 'minst'"),
]
SETTINGS = [
    setting("rounds=0", "rounds=0 given; allowed: 1 or more"),
    setting("rounds=-1", "rounds=-1 given; allowed: 1 or more"),
    setting("rounds=1e400", "1e400 given in a setting; allowed: finite numbers"),
    setting("local_learning_rate=-1e400", "-1e400 given in a setting; allowed: finite numbers"),
    setting("rounds=" + "9" * 400, "999... given in a setting; allowed: finite numbers"),
    setting("method.mu=" + "9" * 400, "999... given in a setting; allowed: finite numbers"),
    setting("rounds=[[[[", "rounds='[[[[' given; allowed: a whole number"),
    setting("rounds=" + DEEP, "given; allowed: fewer brackets"),
    setting("rounds=[]", "rounds=[] given; allowed: a whole number"),
    setting("rounds={}", "rounds={} given; allowed: a whole number"),
    setting("rounds=null", "rounds=null given; allowed: a whole number"),
    setting("rounds=NaN", "NaN given in a setting; allowed: finite numbers"),
    setting("num_clients=0", "num_clients=0 given; allowed: 1 or more"),
    setting("cohort_size=0", "cohort_size=0 given; allowed: 1 to num_clients=2"),
    setting("cohort_size=9", "cohort_size=9 given; allowed: 1 to num_clients=2"),
    setting("batch_size=0", "batch_size=0 given; allowed: 1 or more"),
    setting("local_epochs=0", "local_epochs=0 given; allowed: 1 or more"),
    setting("local_learning_rate=0", "local_learning_rate=0.0 given; allowed: above 0"),
    setting("local_learning_rate=-1", "local_learning_rate=-1.0 given; allowed: above 0"),
    setting("eval_every=0", "eval_every=0 given; allowed: 1 or more"),
    setting("client_eval=some", "unknown client_eval 'some'"),
    setting("precision=fp8", "unknown precision 'fp8'"),
    setting("sample_order=random", "unknown sample order 'random'"),
    setting("model=", "unknown model ''"),
    setting("dataset=", "unknown data set ''"),
    setting("method={}", "method={} given; allowed: text"),
    setting("dataset.mean=[]", "mean=[] given; allowed: 1 or 3 numbers, one per channel"),
    setting("dataset.mean=[1,2]", "mean=[1, 2] given; allowed: 1 or 3 numbers, one per channel"),
    setting("dataset.mean=x", "mean='x' given; allowed: a list of numbers"),
    setting("dataset.mean=[true]", "mean=[true] given; allowed: a list of numbers"),
    setting("dataset.std=[0]", "std=[0] given; allowed: 1 or 3 numbers above 0"),
    setting("dataset.std=[-1]", "std=[-1] given; allowed: 1 or 3 numbers above 0"),
    setting("dataset.client_noise={}", "client_noise={} given; it needs strength"),
    setting("dataset.client_noise=[]", "client_noise=[] given; allowed: a mapping or null"),
    setting('dataset.client_noise={"strenght":1}', "'strenght' (did you mean 'strength'?)"),
    setting('dataset.client_noise={"strength":"x"}', "strength='x' given; allowed: a number"),
    setting("dataset.train_per_class=1.5", "train_per_class=1.5 given; allowed: a whole number or null"),
    setting("dataset.=1", "unknown setting 'dataset.'"),
    setting(".x=1", "unknown setting '.x'"),
    setting("=1", "setting '=1' given; allowed: key=value"),
    setting("model_options={}", "unknown setting 'model_options'"),
    setting("local_optimizer.nesterov=true", "nesterov=True given without momentum"),
    setting("local_optimizer.momentum=-1", "momentum=-1 given for 'sgd'; allowed: 0 or more"),
    setting("local_optimizer.weight_decay=-1", "weight_decay=-1 given for 'sgd'; allowed: 0 or more"),
    Row(
        RUN + "--set local_optimizer=adam --set local_optimizer.betas=[0.9]",
        "betas=[0.9] given; allowed: two numbers from 0 to below 1",
    ),
    Row(RUN + "--set local_optimizer=adadelta --set local_optimizer.rho=3", "rho=3 given; allowed: 0 to 1"),
    Row(
        RUN + "--seeds 1 --method fedavg --set dataset.train_per_class=10 --set batch_size=1000000000000",
        "does not fit in the memory of cpu (can't allocate memory: you tried to allocate 8000000000000 bytes)",
        status=1,
        trains=True,
        name="batch_size=1000000000000",
    ),
    Row(RUN + "--partition from_file", "partition 'from_file' needs the option 'path'"),
]
PATHS = [
    Row("list --store ~nobodyhere/x", "the run store '~nobodyhere/x' cannot be used: Could not determine home"),
    Row("list --store " + "x" * 300, "cannot be used: File name too long", name="a store of 300 characters"),
    Row("list --store {tmp}/loop", "/loop' is not a folder", prepare=link("loop", "loop")),
    Row("list --store {tmp}/dangling", "/dangling' is not a folder", prepare=link("dangling", "nowhere")),
    Row("list --store {tmp}/file", "/file' is not a folder", prepare=text("file", "")),
    Row("list --store {tmp}/file/x", "/file is a file", prepare=text("file", "")),
    Row('list --store ""', "the run store '' is not a folder"),
    Row("list", "the run store '~nobodyhere/x' cannot be used", environment={"FEDLIB_STORE": "~nobodyhere/x"}),
    Row("data list mnis", "unknown data set 'mnis' (did you mean 'mnist'?)"),
    Row("submit feddrl --status", "--status given with an ID; allowed: --status alone"),
    Row("data list", "the data folder '~nobodyhere' cannot be", environment={"FEDLIB_DATA": "~nobodyhere"}),
    Row("data list", "/file' is not a folder", 2, text("file", ""), {"FEDLIB_DATA": "{tmp}/file"}),
    Row("notebooks {tmp}/01_a.ipynb", "01_a.ipynb is not a notebook with kernel python3: it holds no cells",
        prepare=notebook("[]"), name="a notebook that holds []"),
    Row("notebooks {tmp}/01_a.ipynb", "01_a.ipynb is not a notebook", prepare=cut(notebook()), name="a notebook cut"),
    Row("notebooks {tmp}/01_a.ipynb", "01_a.ipynb is not a notebook", prepare=notebook(""), name="an empty notebook"),
    *(
        Row("report --paper fake", "results.json is damaged", 2, text("build/notebooks/results.json", content),
            name=f"results.json of notebooks: {name}")
        for name, content in (("cut", '[{"name": '), ("null", "null"), ("other fields", '[{"a": 1}]'))
    ),
]  # fmt: skip
DATA = [
    data("a label of 2^40", array(train_labels=np.array([0, 1, 2, 1 << 40])), "labels up to 1099511627776; allowed: 0..9999"),
    data("a negative label", array(test_labels=np.array([0, 1, 2, -1])), "labels range over -1..2"),
    data("a forged shape", forged_shape, "the header of train_images.npy says 1152921504606846976 bytes, the array has 64"),
    data("an encrypted archive", encrypted, "tiny.npz is damaged or no .npz file (File "),
    data("an archive cut", cut(npz), "tiny.npz is damaged or no .npz file"),
    data("an archive of text", text("data/tiny.npz", "text"), "tiny.npz is damaged or no .npz file"),
    data("an empty archive", text("data/tiny.npz", ""), "tiny.npz is damaged or no .npz file"),
    data("an archive without labels", array(test_labels=None), "tiny.npz: no array 'test_labels'"),
    data("pickled objects", array(train_labels=np.array([0, 1, {}, 2])), "train_labels have dtype object; allowed: integers"),
    data("labels with fractions", array(train_labels=np.zeros(4)), "train_labels have dtype float64; allowed: integers"),
    data("float images", array(train_images=np.zeros((4, 4, 4))), "images have dtype float64; allowed: uint8"),
    data("no images", array(train_images=np.zeros((0, 4, 4), np.uint8), train_labels=np.zeros(0, int)), "no images"),
    data("pixels of text", parquet(writer_id=["a"], image=[["x"] * 784], label=[1]),
         "an image is neither encoded bytes nor numbers", "femnist"),
    data("an image without bytes", parquet(writer_id=["a"], image=[{"path": "x"}], label=[1]),
         "an image has 1 pixels; allowed: 784", "femnist"),
    data("a damaged picture", parquet(writer_id=["a"], image=[b"x"], label=[1]), "holds a damaged picture", "femnist"),
    data("an empty table", parquet(writer_id=[], image=[], label=[]), "femnist is empty: no image", "femnist"),
    data("no column image", parquet(writer_id=["a"], label=[1]), "no column 'image'; found: writer_id, label", "femnist"),
    data("an unknown glyph", parquet(writer_id=["a"], image=[[0] * 784], label=["?"]), "label '?'; allowed", "femnist"),
    data("a parquet file of text", text("data/femnist/a.parquet", "x"), "is damaged or no parquet file", "femnist"),
    data("LEAF's label 3.7", leaf(y=[0, 1, 2, 3.7]), "all.json: label 3.7; allowed: whole numbers", "femnist"),
    data("LEAF's label 99", leaf(y=[0, 1, 2, 99]), "labels range over 0..99; allowed: 0..61", "femnist"),
    data("LEAF's labels too few", leaf(y=[0]), "1 labels for 4 images", "femnist"),
    data("LEAF's pixels of 2", leaf(x=[[2.0] * 784] * 4), "pixels range over 510..510 of 0..255", "femnist"),
    data("LEAF's images of two sizes", leaf(x=[[0.5]]), "is damaged or no LEAF shard", "femnist"),
    data("a LEAF list", text("data/femnist/a.json", "[]"), "is damaged or no LEAF shard", "femnist"),
    data("a deep LEAF shard", text("data/femnist/a.json", DEEP), "is damaged or no LEAF shard", "femnist"),
    data("a TSV in latin-1", crisis(raw="image_path\tclass_label\nü\tfire\n".encode("latin-1")),
         "is damaged or no TSV file in UTF-8", "crisis-ibd"),
    data("a TSV field of 200,000 characters", crisis(path="x" * 200_000), "field larger than field limit", "crisis-ibd"),
    data("a TSV without columns", crisis(raw=b"a\tb\n"), "no column 'image_path'; found: a, b", "crisis-ibd"),
    data("a picture outside", crisis(path="../../a.jpg"), "image_path '../../a.jpg' leaves the folder", "crisis-ibd"),
    data("a picture at an absolute path", crisis(path="/etc/passwd"), "image_path '/etc/passwd' leaves", "crisis-ibd"),
    data("a picture that is missing", crisis(), "1 of 1 pictures of consolidated_disaster_types_train", "crisis-ibd"),
    *(
        data(f"cached {name} of another type", cached(**{name: value}), f"meta.json is damaged ({name} is ", XRAYS)
        for name, value in (("files", []), ("num_classes", "ten"), ("mean", "x"), ("class_names", [1]))
    ),
]  # fmt: skip
STORE = [
    *(
        Row(command, "run.json was written by fedlib 0.1.0, with other fields; left out", 0,
            rewritten("run.json", newer_field), name=f"a field of a newer version: {command}")
        for command in ("list fake", "verdicts fake")
    ),
    Row("list fake", "rows.csv is missing; left out", 0, stored(lambda f: (f / "rows.csv").unlink())),
    Row("list fake", "rows.csv cannot be read (Is a directory)", 0, folder_at("rows.csv"), name="a folder: rows"),
    Row("list fake", "summary.json cannot be read (Is a directory)", 0, folder_at("summary.json"), name="a folder"),
    Row("list fake", "summary.json is not a readable summary", 0,
        stored(lambda f: (f / "summary.json").write_text(DEEP)), name="a deep summary"),
    Row("list fake", "run.json is not JSON", 0, rewritten("run.json", lambda old: DEEP.encode()), name="a deep run"),
    Row("list fake", "run.json is not a JSON object", 0, rewritten("run.json", lambda old: b"[]"), name="a list"),
    Row("list fake", "provenance.json is not JSON", 0, rewritten("provenance.json", lambda old: old[:-5]),
        name="provenance cut"),
    Row("verdicts fake --profile smoke", "rows.csv is damaged", 2, rewritten("rows.csv", lambda old: b""), name="empty rows"),
    *(
        Row("verdicts fake", "grid-reduced.parquet cannot be read", 2,
            committed(over("grid-reduced.parquet", content)), name=f"committed rows: {name}")
        for name, content in (("cut", 0.5), ("a list", b"[]"), ("empty", b""))
    ),
]  # fmt: skip
REAL = {name: getattr(fedlib.federation, name) for name in ("prepare", "rounds")}
ROWS = [*FIRST, *COMMANDS, *SETTINGS, *PATHS, *DATA, *STORE]


@pytest.fixture(autouse=True)
def fake(monkeypatch, tmp_path):
    fake_federation.install_for(monkeypatch, tmp_path)
    monkeypatch.setattr(torchvision_sets, "DEBIAN_FMNIST", tmp_path / "no-debian")
    for module in (notebook_runner, site, reproduce):
        monkeypatch.setattr(module, "project_root", lambda: tmp_path)


def test_the_table_has_150_rows():
    assert len({(row.command, row.says, str(row)) for row in ROWS}) >= 150


@pytest.mark.filterwarnings("default")  # as on the command line: each is told once
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_bad_input(row, capsys, monkeypatch, tmp_path):
    if row.prepare is not None:
        row.prepare(tmp_path)
        capsys.readouterr()
    for name, value in row.environment.items():
        monkeypatch.setenv(name, value.format(tmp=tmp_path))
    if row.trains:
        for name, function in REAL.items():
            monkeypatch.setattr(fedlib.federation, name, function)
    command = row.command.replace("{tmp}", str(tmp_path))
    there = set(os.listdir(tmp_path))
    assert main(shlex.split(command)) == row.status
    out, error = capsys.readouterr()
    lines = error.splitlines()
    assert row.says in error
    assert not out or row.trains or row.status == 0 or not command.startswith("run ")  # no plan before it
    assert all(
        line.startswith("fedlib: warning: " if row.status == 0 else "fedlib: error: ") for line in lines
    )
    assert len(lines) == 1 or (row.status == 0 and lines)
    assert len(error) < 10_000  # a long value is given shortened
    assert set(os.listdir(tmp_path)) - there <= {
        "data",
        "runs" if row.trains else "data",
    }  # nothing was begun
