"""Methods on a model and tensors of the caller, without the runner."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from worlds import make_run

from fedlib.errors import UsageError
from fedlib.federation import prepare, rounds, task_of
from fedlib.federation import task as federation_task
from fedlib.federation.own_data import SETTINGS
from fedlib.methods import make_method

CLIENTS = [(torch.randn(20 + k, 4), torch.arange(20 + k) % 3) for k in range(4)]


def network():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


def test_a_step_of_fedavg_is_that_of_the_joined_data():
    """One full batch a client, weighted by size, is one step along the gradient of all samples."""
    task = task_of(network(), CLIENTS, CLIENTS[0], local_learning_rate=0.5, batch_size=64)
    *_, last = rounds(task, make_method("fedavg"))
    model = network()
    inputs, labels = (torch.cat(parts) for parts in zip(*CLIENTS, strict=True))
    cross_entropy(model(inputs), labels).backward()
    for name, weight in model.named_parameters():
        expected = (weight - 0.5 * weight.grad).detach()
        torch.testing.assert_close(last.state["params"][name][0], expected)


def flat(size):
    return nn.Sequential(nn.Flatten(), nn.Linear(size, 3))


def tied():
    model = nn.Sequential(nn.Flatten(), nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6), nn.Linear(6, 3))
    model[3].weight = model[1].weight
    return model


@pytest.mark.parametrize(
    ("shape", "make", "backend"),
    [
        ((6,), lambda: flat(6), "stacked"),
        ((2, 3), lambda: flat(6), "stacked"),
        ((1, 2, 3), lambda: flat(6), "stacked"),
        ((2, 3, 2, 2), lambda: flat(24), "stacked"),
        ((2, 3), lambda: nn.Sequential(nn.Linear(3, 2), nn.Flatten(), nn.Linear(4, 3)), "vmap"),
        ((1, 2, 3), lambda: nn.Sequential(nn.Linear(3, 2), nn.Flatten(), nn.Linear(4, 3)), "vmap"),
        ((4, 4), lambda: nn.Sequential(nn.AvgPool2d(2), *flat(4)), "vmap"),
        ((2, 3), tied, "vmap"),
    ],
)
def test_inputs_of_any_shape_train(shape, make, backend):
    """A full batch of one client is a step of plain PyTorch, in the layout that knows the shape."""
    inputs, labels = torch.randn(10, *shape), torch.arange(10) % 3
    model = make()
    task = task_of(model, [(inputs, labels)] * 2, (inputs, labels), local_learning_rate=0.5, batch_size=64)
    assert task.trainer.backend == backend
    *_, last = rounds(task, make_method("fedavg"))
    cross_entropy(model(inputs), labels).backward()
    for name, weight in model.named_parameters():
        expected = (weight - 0.5 * weight.grad).detach()
        torch.testing.assert_close(last.state["params"][name][0], expected)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.copy_(last.state["params"][name][0])
        loss = cross_entropy(model(inputs), labels)
    assert last.rows[0][-1]["test_loss"] == pytest.approx(float(loss), rel=1e-5)


@pytest.mark.parametrize(
    "method", ["scaffold", "feddyn", "fednova", "fedyogi", "feddrl", "evaluatorfl", "fedavgm"]
)
def test_methods_train_it(method):
    task = task_of(network(), CLIENTS, CLIENTS[0], rounds=2, client_eval="none")
    *_, last = rounds(task, make_method(method))
    assert last.round == 2
    assert last.rows[0][0]["status"] == "ok"
    first = network().state_dict()
    assert any(not torch.equal(last.state["params"][n][0], first[n]) for n in first)
    assert all(torch.equal(w, first[n]) for n, w in task.model.state_dict().items()), "hers is unchanged"


def test_batch_norms_of_the_callers_model_leave_padding_out():
    """One epoch in batches of 16 by hand: clients of 20 to 23 samples have a last batch of 4 to 7."""
    clients = [(torch.randn(20 + k, 1, 4, 4), torch.arange(20 + k) % 3) for k in range(4)]
    model = nn.Sequential(nn.BatchNorm2d(1), nn.Flatten(), nn.Dropout(0.5), nn.Linear(16, 3))
    settings = {
        "batch_size": 16,
        "sample_order": "stored",
        "local_learning_rate": 1e-9,
        "client_eval": "none",
    }
    task = task_of(model, clients, clients[0], **settings)
    *_, last = rounds(task, make_method("fedavg"))
    found, sizes = last.state["buffers"]["0.running_mean"][0], [len(labels) for _, labels in clients]
    expected = torch.zeros(1)
    for inputs, _ in clients:
        norm = nn.BatchNorm2d(1)
        norm(inputs[:16]), norm(inputs[16:])
        expected += norm.running_mean * len(inputs) / sum(sizes)
    torch.testing.assert_close(found, expected)
    assert type(model[0]) is nn.BatchNorm2d, "hers is unchanged"


X, Y = CLIENTS[0]


@pytest.mark.parametrize(
    ("clients", "says"),
    [
        ([], "no clients given; allowed: one or more"),
        ([(X, Y), (X[:0], Y[:0])], "client 1 has 0 inputs and 0 labels; allowed: 1 or more of each"),
        ([(X, Y[1:])], "client 0 has 20 inputs and 19 labels"),
        ([(X * torch.nan, Y)], "client 0 has inputs of torch.float32 that are not all finite"),
        ([(X.long(), Y)], "client 0 has inputs of torch.int64"),
        ([(X, Y.float())], r"client 0 has labels torch.float32 \(20,\); allowed: int64"),
        ([(X, Y - 1)], "client 0 has labels"),
        ([(X, Y + 9)], r"the model makes \(1, 3\) of one input; allowed: \(1, 1\d\) or wider"),
        ([(X, Y), (X[:, :1], Y)], "client 1 has inputs of the shape .*, that of client 0"),
        (
            [(X.numpy(), Y)],
            "client 0 is of ndarray, Tensor, no pair of tensors; allowed: ",
        ),
    ],
)
def test_data_that_cannot_be_trained_on_are_refused(clients, says):
    with pytest.raises(UsageError, match=says):
        task_of(network(), clients, (X, Y))


def test_settings_are_those_of_a_run():
    with pytest.raises(UsageError, match="cohort_size=9 given; allowed: 1 to num_clients=4"):
        task_of(network(), CLIENTS, (X, Y), cohort_size=9)
    with pytest.raises(UsageError, match=r"unknown setting 'batchsize' .did you mean 'batch_size'"):
        task_of(network(), CLIENTS, (X, Y), batchsize=9)
    with pytest.raises(UsageError, match="seed=-1 given; allowed: 0 or more"):
        task_of(network(), CLIENTS, (X, Y), seed=-1)


@pytest.mark.parametrize(
    "setting",
    [
        {"device_costs": True},
        {"dataset_options": {"local_test": 0.2}},
        {"partition": "dirichlet"},
        {"method_options": {"mu": 1.0}},
        {"profile": "paper"},
        {"num_clients": 4},
    ],
)
def test_settings_that_nothing_reads_are_refused(setting):
    """Else a script would believe that its clients hold test parts, or that rows have costs."""
    with pytest.raises(UsageError, match=f"unknown setting '{next(iter(setting))}'.*; allowed: seed, "):
        task_of(network(), CLIENTS, (X, Y), **setting)


def test_every_setting_that_is_allowed_is_a_field_of_a_run():
    task = task_of(network(), CLIENTS, (X, Y))
    again = task_of(network(), CLIENTS, (X, Y), **{name: getattr(task.run, name) for name in SETTINGS})
    assert again.run == task.run


def test_clients_train_in_the_precision_that_is_asked_for(monkeypatch):
    assert task_of(network(), CLIENTS, (X, Y)).trainer.precision == "float32"
    with pytest.raises(UsageError, match="precision 'tf32' given on cpu"):
        task_of(network(), CLIENTS, (X, Y), precision="tf32")
    with pytest.raises(UsageError, match="unknown sample order 'sorted'"):
        task_of(network(), CLIENTS, (X, Y), sample_order="sorted")
    monkeypatch.setattr(federation_task, "choose_precision", lambda asked, *_: asked)  # on any CPU
    assert task_of(network(), CLIENTS, (X, Y), precision="bf16").trainer.precision == "bf16"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_options_that_are_not_finite_are_one_line(value):
    """No key of a run can be made of them, for JSON has no such numbers."""
    told = rf"local_optimizer_options={{'momentum': {value}}} given; allowed: finite numbers"
    options = {"local_optimizer_options": {"momentum": value}}
    with pytest.raises(UsageError, match=told):
        task_of(network(), CLIENTS, (X, Y), **options)
    with pytest.raises(UsageError, match=told):
        prepare([make_run(**options)])
    with pytest.raises(UsageError, match=f"local_learning_rate={value} given; allowed: finite numbers"):
        task_of(network(), CLIENTS, (X, Y), local_learning_rate=value)


SEQUENCES = [(torch.randn(12, 5, 4), torch.arange(12) % 3) for _ in range(3)]


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.LSTM(4, 6, batch_first=True), nn.Linear(6, 3)

    def forward(self, x):
        return self.head(self.body(x)[0][:, -1])


def test_a_recurrent_model_trains_one_client_after_the_other():
    """One full batch a client, weighted by size, is one step along the gradient of all samples."""
    model = Recurrent()
    task = task_of(model, SEQUENCES, SEQUENCES[0], local_learning_rate=0.5, batch_size=64)
    assert task.trainer.backend == "loop"
    *_, last = rounds(task, make_method("fedavg"))
    inputs, labels = (torch.cat(parts) for parts in zip(*SEQUENCES, strict=True))
    cross_entropy(model(inputs), labels).backward()
    for name, weight in model.named_parameters():
        torch.testing.assert_close(last.state["params"][name][0], (weight - 0.5 * weight.grad).detach())


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_a_model_with_randomness_of_its_own_is_one_line():
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    model = nn.Sequential(layer, nn.Flatten(), nn.Linear(20, 3))
    with pytest.raises(UsageError, match="the model draws random numbers of its own in training; allowed: "):
        list(rounds(task_of(model, SEQUENCES, SEQUENCES[0]), make_method("fedavg")))
