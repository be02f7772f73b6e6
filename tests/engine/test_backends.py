"""The vectorised backends against the loop, for each model family, optimiser and ragged clients."""

import copy
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from fedlib.engine import (
    Objective,
    Samples,
    Trainer,
    choose_backend,
    cross_entropy,
    evaluate_clients,
    evaluate_lanes,
    make_optimizer,
    make_work,
    stream_keys,
    training,
)
from fedlib.errors import UsageError
from fedlib.models import make_model
from fedlib.models.layers import BatchNorm2d, number_dropouts, replace_layers

SIZES = [7, 4, 12, 1]  # with batches of 4: partial, exact, exact, a single sample


def make_samples(shape, num_classes, count=40, dtype=torch.float32):
    rng = np.random.default_rng(0)
    channels, height, width = shape
    images = rng.integers(0, 256, (count, height, width, channels), dtype=np.uint8)
    images = images[..., 0] if channels == 1 else images
    labels = rng.integers(0, num_classes, count)
    return Samples.from_arrays(images, labels, mean=[0.4] * channels, std=[0.3] * channels, dtype=dtype)


def make_lanes(sizes, *, epochs=2, seed=0, **options):
    starts = np.cumsum([0, *sizes[:-1]])
    indices = [np.arange(a, a + n) for a, n in zip(starts, sizes, strict=True)]
    lanes = range(len(sizes))
    key = stream_keys([seed] * len(sizes), 3, lanes)
    options = {"learning_rate": 0.05, **options}
    return make_work(indices, replica=[0] * len(sizes), client=lanes, key=key, epochs=epochs, **options)


def start_state(trainer, model, lanes):
    params = {n: p.detach().expand(lanes, *p.shape) for n, p in model.named_parameters()}
    buffers = {n: b.expand(lanes, *b.shape) for n, b in model.named_buffers()}
    return trainer.start(params, buffers)


def train(
    name_or_model,
    backend,
    *,
    shape=(1, 28, 28),
    classes=10,
    sizes=SIZES,
    optimizer="sgd",
    options=None,
    **work,
):
    model = name_or_model
    if isinstance(model, str):
        model = make_model(model, image_shape=shape, num_classes=classes, generator_seed=1)
    dtype = work.pop("dtype", torch.float32)
    model = model.to(dtype)
    objective = work.pop("objective", Objective())
    max_lanes = work.pop("max_lanes", None)
    trainer = Trainer(
        copy.deepcopy(model), backend, make_optimizer(optimizer, options or {}), 4, objective, max_lanes
    )
    state = start_state(trainer, model, len(sizes))
    rule = work.pop("rule", None)
    samples = make_samples(shape, classes, dtype=dtype)
    return trainer, samples, training.train(trainer, samples, state, make_lanes(sizes, **work), rule)


def assert_same(a, b, tolerance=1e-5):
    for ours, theirs in ((a.state.params, b.state.params), (a.state.buffers, b.state.buffers)):
        assert ours.keys() == theirs.keys()
        for name in ours:
            torch.testing.assert_close(ours[name], theirs[name], rtol=tolerance, atol=tolerance, msg=name)
    for slot, tensors in b.state.optimizer.items():
        for x, y in zip(a.state.optimizer[slot], tensors, strict=True):
            torch.testing.assert_close(x, y, rtol=1e-4, atol=tolerance)
    torch.testing.assert_close(a.state.steps, b.state.steps)
    torch.testing.assert_close(a.loss, b.loss, rtol=1e-4, atol=1e-5)


FAMILIES = {
    "mlp": {},
    "lenet": {},
    "cnn-feddrl": {},  # dropout
    "cnn-feddisk": {"sizes": [7, 4, 12]},  # BatchNorm
    "vgg11": {"shape": (3, 32, 32), "sizes": [5, 2]},
    # In 52 BatchNorm layers over batches of 4 and 3 with maps of one pixel, dead channels magnify
    # float32 rounding without bound; in float64 the same computation shows that the backends agree.
    "mobilenetv2": {
        "shape": (3, 32, 32),
        "sizes": [7, 4],
        "epochs": 1,
        "dtype": torch.float64,
        "learning_rate": 1e-3,
    },
}


@pytest.mark.parametrize("backend", ["vmap", "stacked"])
@pytest.mark.parametrize("family", FAMILIES)
def test_vectorised_equals_loop(family, backend):
    settings = FAMILIES[family]
    _, _, reference = train(family, "loop", **settings)
    _, _, vectorised = train(family, backend, **settings)
    assert_same(vectorised, reference)


@pytest.mark.parametrize("backend", ["vmap", "stacked"])
@pytest.mark.parametrize(
    ("optimizer", "options"),
    [
        ("sgd", {"momentum": 0.9}),
        ("sgd", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
        ("adagrad", {"weight_decay": 0.01}),
        ("adam", {}),
        ("adadelta", {}),
    ],
)
def test_local_optimizers_equal_torch(optimizer, options, backend):
    settings = {"optimizer": optimizer, "options": options, "learning_rate": [0.01, 0.02, 0.005, 0.01]}
    _, _, reference = train("mlp", "loop", **settings)
    _, _, vectorised = train("mlp", backend, **settings)
    assert_same(vectorised, reference)


def test_one_sgd_step_by_hand():
    """A linear model on two pixels, two classes, one sample x = (1, 0), label 0, weights zero.

    softmax = (1/2, 1/2), so dl/dlogits = (-1/2, 1/2); with lr 0.5 the weights become
    W = [[+1/4, 0], [-1/4, 0]] and the bias (+1/4, -1/4). The loss is ln 2.
    """
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(2, 2))
    torch.nn.init.zeros_(model[1].weight)
    torch.nn.init.zeros_(model[1].bias)
    samples = Samples.from_arrays(np.array([[[255, 0]]], dtype=np.uint8), np.array([0]))
    for backend in ("loop", "vmap", "stacked"):
        trainer = Trainer(copy.deepcopy(model), backend, make_optimizer("sgd"), 10)
        work = make_lanes([1], epochs=1, learning_rate=0.5)
        result = training.train(trainer, samples, start_state(trainer, model, 1), work)
        expected = torch.tensor([[[0.25, 0.0], [-0.25, 0.0]]])
        torch.testing.assert_close(result.state.params["1.weight"], expected)
        torch.testing.assert_close(result.state.params["1.bias"], torch.tensor([[0.25, -0.25]]))
        torch.testing.assert_close(result.loss, torch.tensor([np.log(2)], dtype=torch.float32))


@pytest.mark.parametrize("backend", ["loop", "vmap", "stacked"])
def test_stored_order_equals_a_data_loader_that_does_not_shuffle(backend):
    """Each client's samples once more through torch's own DataLoader and Adadelta (FRL report's code)."""
    _, samples, trained = train("mlp", backend, optimizer="adadelta", learning_rate=1.0, order="stored")
    starts = np.cumsum([0, *SIZES])
    for lane, (start, stop) in enumerate(pairwise(starts)):
        model = make_model("mlp", image_shape=(1, 28, 28), num_classes=10, generator_seed=1)
        optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
        own = torch.arange(start, stop)
        pairs = torch.utils.data.TensorDataset(samples.fetch(own), samples.labels[own])
        for _ in range(2):
            for x, labels in torch.utils.data.DataLoader(pairs, batch_size=4, shuffle=False):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(x), labels).backward()
                optimizer.step()
        for name, expected in model.named_parameters():
            torch.testing.assert_close(
                trained.state.params[name][lane], expected.detach(), rtol=1e-4, atol=1e-5
            )
    _, _, shuffled = train("mlp", backend, optimizer="adadelta", learning_rate=1.0)
    assert not torch.allclose(shuffled.state.params[name], trained.state.params[name], atol=1e-3)


@pytest.mark.parametrize("backend", ["loop", "vmap", "stacked"])
def test_lanes_without_work_keep_every_bit(backend):
    model = make_model("cnn-feddisk", image_shape=(1, 28, 28), num_classes=10, generator_seed=1)
    trainer = Trainer(model, backend, make_optimizer("adam"), 4)
    before = start_state(trainer, copy.deepcopy(model), 3)
    work = make_lanes([6, 6, 6], epochs=[2, 0, 1])
    samples = make_samples((1, 28, 28), 10)
    kept = {n: t[1].clone() for n, t in {**before.params, **before.buffers}.items()}
    after = training.train(trainer, samples, before, work).state
    assert all(torch.equal({**after.params, **after.buffers}[n][1], t) for n, t in kept.items())
    assert all(torch.equal(t[1], torch.zeros_like(t[1])) for slot in after.optimizer.values() for t in slot)
    assert after.steps.tolist() == [4, 0, 2]


@pytest.mark.parametrize("backend", ["loop", "vmap", "stacked"])
@pytest.mark.parametrize("optimizer", [("sgd", {"momentum": 0.9}), ("adam", {"eps": 1e-3})])
def test_continued_work_equals_one_go(backend, optimizer):
    """FedDdrl's probing epoch and the remaining epochs are the same as all epochs at once."""
    name, options = optimizer
    settings = {"optimizer": name, "options": options}
    _, _, whole = train("cnn-feddrl", backend, epochs=[3, 1, 3, 2], **settings)
    trainer, samples, probe = train("cnn-feddrl", backend, epochs=1, **settings)
    rest = make_lanes(SIZES, epochs=[3, 1, 3, 2], first_epoch=1)
    resumed = training.train(trainer, samples, probe.state, rest).state
    for key, tensor in whole.state.params.items():
        # Adam divides by the root of tiny squared gradients, which magnifies rounding
        torch.testing.assert_close(
            resumed.params[key], tensor, rtol=1e-4, atol=1e-4 if name == "adam" else 1e-6
        )
    assert torch.equal(resumed.steps, whole.state.steps)


def test_passes_of_few_lanes_equal_one_pass():
    _, _, whole = train("lenet", "stacked")
    _, _, split = train("lenet", "stacked", max_lanes=2)
    assert_same(split, whole)


def test_order_of_lanes_does_not_matter():
    """A client's local model is the same wherever its lane stands and whoever trains beside it."""
    _, samples, together = train("lenet", "stacked")
    model = make_model("lenet", image_shape=(1, 28, 28), num_classes=10, generator_seed=1)
    trainer = Trainer(copy.deepcopy(model), "stacked", make_optimizer("sgd"), 4)
    work = make_lanes(SIZES).select(np.array([2, 0]))
    alone = training.train(trainer, samples, start_state(trainer, model, 2), work)
    for name, tensor in together.state.params.items():
        torch.testing.assert_close(alone.state.params[name], tensor[[2, 0]], rtol=1e-5, atol=1e-6)


def test_sample_weights_soft_targets_and_mixed_inputs():
    """What later methods need: an objective of their own, no change to the engine."""
    weights = torch.linspace(0, 2, 40)

    def mixed(samples, batch):
        x = 0.7 * samples.fetch(batch.index) + 0.3 * samples.fetch((batch.index + 1) % 40)
        onehot = torch.nn.functional.one_hot(samples.labels[batch.index], 10).float()
        return x, type(batch)(
            batch.index, batch.mask, 0.9 * onehot + 0.01, batch.replica, batch.client, batch.key
        )

    objective = Objective(
        losses=lambda outputs, batch: weights[batch.index] * cross_entropy(outputs, batch), inputs=mixed
    )
    results = [train("lenet", backend, objective=objective)[2] for backend in ("loop", "vmap", "stacked")]
    assert_same(results[1], results[0])
    assert_same(results[2], results[0])


def test_unit_weights_change_no_bit():
    ones = Objective(
        losses=lambda outputs, batch: torch.ones(40)[batch.index] * cross_entropy(outputs, batch)
    )
    _, _, plain = train("lenet", "stacked")
    _, _, weighted = train("lenet", "stacked", objective=ones)
    assert all(torch.equal(plain.state.params[n], weighted.state.params[n]) for n in plain.state.params)


@pytest.mark.parametrize("backend", ["loop", "vmap", "stacked"])
def test_evaluation_against_plain_pytorch(backend):
    trainer, samples, trained = train("cnn-feddisk", backend, sizes=[7, 4, 12])
    lists = [np.arange(5), np.arange(10, 33), np.arange(3)]
    result = evaluate_lanes(trainer, samples, trained.state.params, trained.state.buffers, lists)
    module = make_model("cnn-feddisk", image_shape=(1, 28, 28), num_classes=10, generator_seed=1).eval()
    for lane, index in enumerate(lists):
        state = {n: t[lane] for n, t in {**trained.state.params, **trained.state.buffers}.items()}
        module.load_state_dict(state)
        logits = module(samples.fetch(torch.from_numpy(index)))
        labels = samples.labels[index]
        torch.testing.assert_close(result.loss[lane], torch.nn.functional.cross_entropy(logits, labels))
        assert result.accuracy[lane] == (logits.argmax(1) == labels).float().mean()
    one = (
        {n: t[:1] for n, t in trained.state.params.items()},
        {n: t[:1] for n, t in trained.state.buffers.items()},
    )
    by_client = evaluate_clients(trainer, samples, *one, [lists])[0]
    torch.testing.assert_close(by_client.loss[0], result.loss[0])
    assert by_client.count.tolist() == [5, 23, 3]


def test_a_model_with_an_unknown_layer_takes_vmap_and_says_so():
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10), torch.nn.GELU())
    cpu = torch.device("cpu")
    assert choose_backend(model, cpu) == "vmap"
    with pytest.raises(
        UsageError, match="'stacked' asked for a model with GELU; allowed for it: auto, loop, vmap"
    ):
        choose_backend(model, cpu, "stacked")
    _, _, reference = train(model, "loop")
    _, _, vectorised = train(model, "vmap")
    assert_same(vectorised, reference)


class Centred(nn.Sequential):
    """A Sequential whose own forward looks across channels."""

    def forward(self, x):
        return super().forward(x - x.mean(dim=1, keepdim=True))


class Spare(nn.Module):
    """A linear model with a layer that takes no part in its forward pass."""

    def __init__(self):
        super().__init__()
        self.spare, self.used = nn.Linear(16, 16), nn.Linear(784, 10)

    def forward(self, x):
        return self.used(x.flatten(1))


def own_models():
    """Models as a user may write them: layers at two places, a forward of one's own, torch's layers."""
    relu, linear = nn.ReLU(), nn.Linear(16, 16)
    flat, last = [nn.Flatten(), nn.Linear(784, 16)], nn.Linear(16, 10)
    image = [nn.Flatten(), nn.Linear(4 * 26 * 26, 10)]
    frozen = nn.Sequential(*flat, relu, last).requires_grad_(False)
    frozen[-1].requires_grad_(True)
    return {
        "shared activation": nn.Sequential(*flat, relu, nn.Linear(16, 16), relu, last),
        "shared weights": nn.Sequential(*flat, relu, linear, relu, linear, last),
        "own forward": nn.Sequential(nn.Conv2d(1, 4, 2), Centred(nn.Conv2d(4, 4, 2)), *image),
        "batch norm": nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), *image),
        "no affine": nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4, affine=False), *image),
        "no statistics": nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4, track_running_stats=False), *image
        ),
        "mean statistics": nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4, momentum=None), *image),
        "vectors": nn.Sequential(*flat, nn.BatchNorm1d(16), last),
        "dropout": nn.Sequential(*flat, nn.Dropout(0.3), relu, nn.Dropout(0.3), last),
        "frozen": frozen,
        "spare": Spare(),
    }


@pytest.mark.parametrize("name", own_models())
@pytest.mark.parametrize("optimizer", [("sgd", {}), ("sgd", {"momentum": 0.9, "weight_decay": 0.1})])
def test_a_users_model_trains_as_in_the_loop(name, optimizer):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = number_dropouts(replace_layers(copy.deepcopy(own_models()[name])))
    settings = dict(zip(("optimizer", "options"), optimizer, strict=True), sizes=[7, 4, 10])
    _, _, reference = train(model, "loop", **settings)
    _, _, found = train(model, choose_backend(model, torch.device("cpu")), **settings)
    assert_same(found, reference)
    for parameter, before in model.named_parameters():
        same = torch.equal(found.state.params[parameter], before.detach().expand(3, *before.shape))
        assert same is not (before.requires_grad and not parameter.startswith("spare"))


@pytest.mark.parametrize("name", ["frozen", "vectors", "mean statistics"])
def test_what_only_the_loop_trains_rightly_is_not_vectorised(name):
    model = replace_layers(own_models()[name])
    assert choose_backend(model, torch.device("cpu")) == "loop"
    for backend in ("vmap", "stacked"):
        with pytest.raises(UsageError, match="allowed for it: auto, loop"):
            choose_backend(model, torch.device("cpu"), backend)


def test_empty_client_and_wrong_options_are_one_line():
    with pytest.raises(UsageError, match="client 1 has no samples"):
        make_lanes([3, 0])
    with pytest.raises(UsageError, match=r"unknown local optimizer 'sgdd' .did you mean 'sgd'"):
        make_optimizer("sgdd")
    with pytest.raises(UsageError, match="unknown option of local optimizer 'sgd' 'beta'"):
        make_optimizer("sgd", {"beta": 1})
    with pytest.raises(UsageError, match=r"momentum=-0\.5 given"):
        make_optimizer("sgd", {"momentum": -0.5})


def test_batchnorm_statistics_count_batches():
    _, _, trained = train("cnn-feddisk", "stacked", sizes=[7, 4, 12])
    model = make_model("cnn-feddisk", image_shape=(1, 28, 28), num_classes=10, generator_seed=1)
    name = next(n for n, m in model.named_modules() if isinstance(m, BatchNorm2d))
    assert trained.state.buffers[f"{name}.num_batches_tracked"].tolist() == [4, 2, 6]
