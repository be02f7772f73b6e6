"""Methods, partitions and models of a module of the user's."""

import numpy as np
import pytest

from fedlib.errors import UsageError
from fedlib.experiments.preflight import check_run_names
from fedlib.federation import prepare, rounds
from fedlib.methods import METHODS, make_method, method_of
from fedlib.models import MODELS, model_options
from fedlib.partition import PARTITIONS, make_partition
from fedlib.run import Run

MODULE = """
from dataclasses import dataclass, replace

import numpy as np
from torch import nn

from fedlib.federation import Method, finish_round, initial_state, sample_shares, train_cohort

number = 3


def stripes(labels, *, num_clients, start=0):
    return [np.arange(start, len(labels))[k::num_clients] for k in range(num_clients)]


def lost(labels, *, num_clients):
    return [np.arange(len(labels))] + [[]] * (num_clients - 1)


def beyond(labels, *, num_clients):
    return [[k, len(labels)] for k in range(num_clients)]


def twice(labels, *, num_clients):
    return [[0]] * num_clients


def masks(labels, *, num_clients):
    return [np.arange(len(labels)) % num_clients == k for k in range(num_clients)]


def floats(labels, *, num_clients):
    return [np.arange(k, len(labels), num_clients, dtype=float) for k in range(num_clients)]


def owners(labels, *, num_clients):
    return [n % num_clients for n in range(len(labels))]


def forgetful(labels, *, num_clients):
    [np.arange(len(labels))]


def no_network(image_shape, num_classes):
    nn.Flatten()


def linear(image_shape, num_classes, *, bias=True):
    return nn.Sequential(nn.Flatten(), nn.Linear(int(np.prod(image_shape)), num_classes, bias=bias))


@dataclass(frozen=True)
class Plain(Method):
    rate: float

    def init(self, task):
        return initial_state(task)

    def apply(self, task, state, cohort):
        trained = train_cohort(task, state, cohort)
        return finish_round(task, state, cohort, trained, sample_shares(task, cohort))


@dataclass(frozen=True)
class Half(Method):
    def init(self, task):
        return initial_state(task)


@dataclass(frozen=True)
class NoCohort(Plain):
    def apply(self, task, state):
        return state


@dataclass(frozen=True)
class NoTask(Plain):
    def init(self):
        return None


@dataclass(frozen=True)
class Checked(Plain):
    rate: float = 0.0

    @staticmethod
    def check(run):
        return None


@dataclass(frozen=True)
class StateAlone(Plain):
    rate: float = 0.0

    def apply(self, task, state, cohort):
        return super().apply(task, state, cohort)[0]


@dataclass(frozen=True)
class NoState(Plain):
    rate: float = 0.0

    def init(self, task):
        initial_state(task)


@dataclass(frozen=True)
class Stuck(Plain):
    rate: float = 0.0

    def apply(self, task, state, cohort):
        after, report = super().apply(task, state, cohort)
        return replace(after, round=state.round), report


@dataclass(frozen=True)
class OfClients(Plain):
    rate: float = 0.0

    def apply(self, task, state, cohort):
        after, report = super().apply(task, state, cohort)
        copies = {n: t.repeat_interleave(3, 0) for n, t in after.params.items()}
        return replace(after, params=copies), report


@dataclass(frozen=True)
class Wide(Plain):
    rate: float = 0.0

    def apply(self, task, state, cohort):
        after, report = super().apply(task, state, cohort)
        return replace(after, params={n: t.double() for n, t in after.params.items()}), report


@dataclass(frozen=True)
class Nameless(Plain):
    rate: float = 0.0

    def apply(self, task, state, cohort):
        after, report = super().apply(task, state, cohort)
        return replace(after, params={}), report


@dataclass(frozen=True)
class OneValue(Plain):
    rate: float = 0.0
    spread = 0.5

    def apply(self, task, state, cohort):
        after, report = super().apply(task, state, cohort)
        return after, replace(report, columns={"spread": self.spread})


class ClientColumn(OneValue):
    spread = [0.1, 0.2, 0.3]


class Undecorated(Plain):
    rate: float = 0.0
    alpha: float = 1.0


class Network(nn.Module):
    def __init__(self, classes):
        super().__init__()


def sized(image_shape, num_classes, *, hidden=8, dropout=0, kind="a"):
    return linear(image_shape, num_classes)
"""
GIVEN = {"labels": np.arange(12) % 3, "num_classes": 3, "num_clients": 4, "rng": np.random.default_rng(0)}


@pytest.fixture(scope="module", autouse=True)
def own_module(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    (folder / "hers.py").write_text(MODULE)
    (folder / "unfinished.py").write_text("def stripes(labels\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield


def run_of(**changes):
    settings = {
        "paper": "own", "artifact": "own", "profile": "smoke", "dataset": "fmnist-embedded",
        "method": "fedavg", "partition": "hers:stripes", "model": "hers:linear", "num_clients": 4,
        "rounds": 1,
        "dataset_options": {"train_per_class": 4, "test_per_class": 4}, "client_eval": "none",
    }  # fmt: skip
    return Run(**{**settings, **changes})


def test_a_partition_and_a_model_of_the_users_train():
    run = run_of(partition_options={"start": 4}, model_options={"bias": False})
    check_run_names(run)
    task = prepare([run])
    assert [own.tolist()[0] for own in task.clients[0]] == [4, 5, 6, 7]
    assert sum(len(own) for own in task.clients[0]) == 36
    assert [tuple(w.shape) for w in task.model.parameters()] == [(10, 784)]
    *_, last = rounds(task, make_method("fedavg"))
    assert last.rows[0][0]["status"] == "ok"


@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("lost", "leaves client 1 of 4 without images"),
        ("beyond", "made indices from 0 to 12; allowed: 0 to 11"),
        ("twice", "gave an image out twice"),
        ("masks", r"gives client 0 bool \(12,\); allowed: whole numbers \[n\] \(indices, not masks\)"),
        ("floats", r"gives client 0 float64 \(3,\); allowed: whole numbers"),
        ("owners", r"gives client 0 int64 \(\); allowed: whole numbers \[n\]"),
        ("forgetful", "returned NoneType; allowed: a list of indices for each client"),
        ("number", "given; allowed: a class or function"),
        ("nothing", "cannot be imported .*; allowed: a name of `fedlib.partition.PARTITIONS`"),
    ],
)
def test_a_partition_of_the_users_that_cannot_be_is_refused(function, says):
    with pytest.raises(UsageError, match=says):
        make_partition(f"hers:{function}", **GIVEN)


def test_a_module_with_a_syntax_error_is_one_line():
    with pytest.raises(UsageError, match="partition 'unfinished:stripes' cannot be imported"):
        make_partition("unfinished:stripes", **GIVEN)


def test_a_model_that_is_no_network_is_refused():
    with pytest.raises(UsageError, match="'hers:no_network' returned NoneType; allowed: "):
        prepare([run_of(model="hers:no_network")])


def test_device_costs_that_cannot_be_are_refused_before_the_data_are_loaded():
    with pytest.raises(UsageError, match="device_costs=true and local_steps=2 given"):
        check_run_names(run_of(device_costs=True, local_steps=2))


def test_an_option_that_a_model_of_the_users_lacks_is_refused():
    assert model_options("hers:linear") == {"bias": True}
    with pytest.raises(UsageError, match="unknown option of model 'hers:linear' 'bais'"):
        check_run_names(run_of(model_options={"bais": True}))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Half", "method 'hers:Half' given without apply; a `Method` needs init and apply"),
        ("Plain", "method 'hers:Plain' needs the option 'rate'"),
        ("NoTask", r"init of method 'hers:NoTask' takes \(self\); allowed: \(self, task\)$"),
        (
            "NoCohort",
            r"apply of method 'hers:NoCohort' takes \(self, task, state\); allowed: \(self, task, state, coh",
        ),
    ],
)
def test_a_method_that_cannot_be_made_is_refused(name, says):
    with pytest.raises(UsageError, match=says):
        check_run_names(run_of(method=f"hers:{name}"))


def test_a_step_that_needs_no_instance_may_be_static():
    check_run_names(run_of(method="hers:Checked"))


@pytest.mark.parametrize(
    ("name", "takes"), [("os:getcwd", r"\(\)"), ("builtins:min", "arguments that cannot be told")]
)
def test_a_partition_that_takes_other_arguments_is_refused(name, takes):
    with pytest.raises(UsageError, match=rf"partition '{name}' takes {takes}; allowed: \(labels, \*, num"):
        check_run_names(run_of(partition=name))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("NoState", "NoState.init returned NoneType; allowed: a ServerState"),
        ("StateAlone", "StateAlone.apply returned ServerState; allowed: "),
        ("Stuck", "Stuck.apply returned the state of round 0 in round 1"),
        ("OfClients", r"OfClients.apply returned \S+ as torch.float32 \(3, .*; allowed: \S+ \(1, "),
        ("Wide", "Wide.apply returned .* as torch.float64 .*; allowed: torch.float32 "),
        ("Nameless", r"Nameless.apply returned \[\]; allowed: \["),
        ("ClientColumn", "reported column 'spread' with 3; allowed: a list of 1, a value for each replica"),
        ("OneValue", "reported column 'spread' with one value; allowed: a list of 1"),
    ],
)
@pytest.mark.parametrize("device_costs", [False, True])
def test_what_init_and_apply_have_to_return_is_checked(name, says, device_costs):
    run = run_of(method=f"hers:{name}", device_costs=device_costs)
    with pytest.raises(UsageError, match=says):
        list(rounds(prepare([run]), method_of([run])))


def test_a_method_whose_fields_are_no_options_is_refused():
    with pytest.raises(UsageError, match=r"method 'hers:Undecorated' given; .*`@dataclass\(frozen=True\)`"):
        make_method("hers:Undecorated")


def test_a_model_that_takes_other_arguments_is_refused():
    with pytest.raises(
        UsageError, match=r"model 'hers:Network' takes \(classes\); allowed: \(image_shape, num_classes, \*, "
    ):
        prepare([run_of(model="hers:Network")])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"hidden": "x"},
            r"hidden=\"x\" given; allowed: a number \(default 8\)|hidden='x' given; allowed: a number",
        ),
        ({"kind": 3}, "kind=3 given; allowed: text"),
    ],
)
def test_an_option_of_a_users_model_is_of_its_defaults_kind(options, says):
    with pytest.raises(UsageError, match=says):
        prepare([run_of(model="hers:sized", model_options=options)])


def test_a_whole_default_takes_any_number():
    prepare([run_of(model="hers:sized", model_options={"dropout": 0.5})])


def test_unknown_names_tell_that_own_ones_are_allowed():
    with pytest.raises(
        UsageError, match=r"unknown method 'hers\.Plain'.*, or package\.module:name of your own$"
    ):
        make_method("hers.Plain")


@pytest.mark.parametrize(
    ("registry", "name"), [(METHODS, "fedavg"), (PARTITIONS, "iid"), (MODELS, "mlp")], ids=lambda v: v
)
def test_a_name_of_fedlib_stays_what_stored_rows_mean_by_it(monkeypatch, registry, name):
    before, another = registry[name], list(registry.values())[-1]
    with pytest.raises(UsageError, match=f"{name!r} is fedlib's own"):
        registry[name] = another
    with pytest.raises(UsageError, match=f"{name!r} is fedlib's own"):
        registry.update({name: another})
    registry[name] = before
    for entry in (another, before):
        monkeypatch.setitem(registry, "of_a_session", entry)
        assert registry["of_a_session"] is entry
    assert registry[name] is before
