"""MADE: a density, autoregressive, equal to a loop over pixels, and stackable."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.distributions import Bernoulli, Independent
from zuko.nn import MaskedMLP

from fedlib.engine import (
    LocalRule,
    Objective,
    Samples,
    Trainer,
    choose_backend,
    density_losses,
    make_optimizer,
    make_work,
    stream_keys,
    train,
)
from fedlib.engine.steps.made import DensityStep
from fedlib.errors import UsageError
from fedlib.models import count_parameters
from fedlib.models.made import draw_masks, make_made, masks_of, negative_log_likelihood


def trained_looking(features, hidden=9, seed=0):
    """A MADE with biases that are not zero either."""
    model = make_made(features, hidden=hidden, generator_seed=(seed,))
    generator = torch.Generator().manual_seed(seed)
    for p in model.parameters():
        torch.nn.init.normal_(p, generator=generator)
    return model.double()


@pytest.mark.parametrize("features", [2, 3, 8])
def test_probabilities_of_all_inputs_sum_to_one(features):
    x = torch.tensor(list(itertools.product([0.0, 1.0], repeat=features)), dtype=torch.float64)
    for seed in range(5):
        log_p = -negative_log_likelihood(trained_looking(features, seed=seed)(x), x)
        assert float(log_p.exp().sum().detach()) == pytest.approx(1, abs=1e-12)


def test_output_i_does_not_depend_on_inputs_at_or_after_i():
    model = trained_looking(7, hidden=60)
    x = torch.rand(7, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    jacobian = torch.autograd.functional.jacobian(lambda v: model(v[None])[0], x)
    assert torch.equal(jacobian.triu(), torch.zeros_like(jacobian))
    assert (jacobian.tril(-1)[1:].abs().sum(dim=1) > 0).all()  # and it does depend on those before


def test_log_likelihood_agrees_with_a_loop_over_pixels():
    """Each conditional from the formulas of sec. III alone: no masks, only the units that may be used."""
    model = trained_looking(6, hidden=11, seed=4)
    w, b, v, c = (p.detach().numpy() for p in model.parameters())
    into = model.hidden.mask.numpy()
    degree = into.sum(axis=1)  # m(k): unit k sees inputs 1..m(k)
    x = np.random.default_rng(1).random((5, 6))
    expected = []
    for sample in x:
        total = 0.0
        for d in range(1, 7):
            activation = c[d - 1]
            for k in range(11):
                if d > degree[k]:
                    m = int(degree[k])
                    activation += v[d - 1, k] * max(0.0, w[k, :m] @ sample[:m] + b[k])
            u = 1 / (1 + np.exp(-activation))
            total += sample[d - 1] * np.log(u) + (1 - sample[d - 1]) * np.log(1 - u)
        expected.append(total)
    x = torch.from_numpy(x)
    np.testing.assert_allclose(-negative_log_likelihood(model(x), x).detach().numpy(), expected, rtol=1e-10)


def test_network_and_likelihood_agree_with_zuko():
    """Masks built from "output i sees inputs before i" alone, and the same weights: the same log p(x)."""
    features, hidden = 7, 12
    theirs = MaskedMLP(torch.ones(features, features).tril(-1).bool(), [hidden])
    degree = theirs[0].mask.sum(dim=1)
    into, out = masks_of(degree, features)
    assert torch.equal(into, theirs[0].mask)
    assert torch.equal(out, theirs[2].mask)
    ours = make_made(features, hidden=hidden)
    for layer, other in ((ours.hidden, theirs[0]), (ours.output, theirs[2])):
        layer.mask = other.mask.to(layer.weight.dtype)
        layer.load_state_dict({"weight": other.weight, "bias": other.bias})
    x = torch.bernoulli(torch.full((50, features), 0.4), generator=torch.Generator().manual_seed(0))
    log_p = Independent(Bernoulli(logits=theirs(x)), 1).log_prob(x)
    torch.testing.assert_close(negative_log_likelihood(ours(x), x), -log_p)


def test_masks_by_hand():
    class Degrees:
        def integers(self, low, high, size):
            assert (low, high, size) == (1, 3, 2)
            return np.array([1, 2])

    into, out = draw_masks(3, 2, Degrees())
    assert into.int().tolist() == [[1, 0, 0], [1, 1, 0]]
    assert out.int().tolist() == [[0, 0], [1, 0], [1, 1]]


def test_masks_are_the_same_for_all_and_no_part_of_the_state():
    one, two = (make_made(20, generator_seed=(seed,)) for seed in (0, 1))
    assert torch.equal(one.hidden.mask, two.hidden.mask)
    assert not torch.equal(one.hidden.weight, two.hidden.weight)
    assert not list(one.buffers())
    assert list(dict(one.named_parameters())) == [
        "hidden.weight", "hidden.bias", "output.weight", "output.bias"
    ]  # fmt: skip


def test_global_random_state_is_untouched():
    before = torch.get_rng_state()
    make_made(12)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("side", "hidden", "weights"), [(32, 50, 102_400), (28, 30, 47_040), (28, 400, 627_200)]
)
def test_sizes_of_the_paper(side, hidden, weights):
    model = make_made(side * side, hidden=hidden)
    assert count_parameters(model) == weights + hidden + side * side
    assert sum(p.numel() for p in model.parameters() if p.ndim == 2) == weights  # table 2 counts these
    assert model(torch.zeros(3, 1, side, side)).shape == (3, side * side)


def test_mask_follows_type():
    assert make_made(5).double().hidden.mask.dtype == torch.float64


def train_ragged(backend, optimizer, losses=density_losses, *, hidden=5, **work):
    x = torch.rand(19, 6, generator=torch.Generator().manual_seed(0))
    samples = Samples(x, torch.zeros(19, dtype=torch.int64))
    pixels = Objective(losses, lambda s, b: (s.fetch(b.index), replace(b, targets=s.fetch(b.index))))
    model = make_made(6, hidden=hidden)
    assert choose_backend(model, torch.device("cpu")) == "stacked"
    lists = [np.arange(7), np.arange(7, 11), np.arange(11, 19)]
    rule = work.pop("rule", None)
    given = {"epochs": 3, "learning_rate": 0.05, **work}
    work = make_work(lists, replica=[0] * 3, client=range(3), key=stream_keys([0] * 3, 1, range(3)), **given)
    trainer = Trainer(model, backend, make_optimizer(*optimizer), 4, pixels)
    start = {n: p.detach().expand(3, *p.shape) for n, p in model.named_parameters()}
    if rule is not None:
        rule = LocalRule(rule, {name: tensor + 0.1 for name, tensor in start.items()})
    return train(trainer, samples, trainer.start(start, {}), work, rule)


OPTIMIZERS = [("adagrad",), ("sgd",), ("sgd", {"momentum": 0.9}), ("adam", {"weight_decay": 0.1})]
WORK = [{}, {"rule": 0.5}, {"learning_rate": [0.05, 0.01, 0.02]}]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("backend", ["vmap", "stacked"])
def test_backends_agree_on_ragged_clients(backend, optimizer):
    loop, other = (train_ragged(name, optimizer) for name in ("loop", backend))
    for name, tensor in loop.state.params.items():
        torch.testing.assert_close(other.state.params[name], tensor, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(other.loss, loop.loss, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_written_out_step_equals_autograd(optimizer, work, monkeypatch):
    taken = []

    class Counted(DensityStep):
        def __call__(self, *args):
            taken.append(self)
            return super().__call__(*args)

    monkeypatch.setattr("fedlib.engine.steps.choose.DensityStep", Counted)
    written = train_ragged("stacked", optimizer, **work)
    assert bool(taken) == (not work)  # a local rule, and rates that differ or are on a GPU: autograd's step
    plain = train_ragged("stacked", optimizer, lambda logits, b: density_losses(logits, b), **work)
    for name, tensor in plain.state.params.items():
        assert torch.equal(written.state.params[name], tensor)
    torch.testing.assert_close(written.loss, plain.loss)


def test_weights_outside_the_masks_stay_zero():
    model = make_made(6, hidden=5)
    trained = train_ragged("stacked", ("adagrad",)).state.params
    for name in ("hidden", "output"):
        layer, weight = model.get_submodule(name), trained[f"{name}.weight"]
        assert float((weight * (1 - layer.mask)).abs().max()) == 0
        assert float((weight - layer.weight.detach()).abs().max()) > 0.01


def test_too_few_features_are_one_line():
    with pytest.raises(UsageError, match="model made takes images of at least 2 values, not 1"):
        make_made(1)
    with pytest.raises(UsageError, match="hidden must be a whole number of at least 1, not 0"):
        make_made(4, hidden=0)
