"""Dropout masks as a function of keys, and batch normalisation that leaves padded samples out."""

import copy

import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, vmap

from fedlib.models.layers import (
    BatchNorm2d,
    Dropout,
    RepeatChannels,
    dropout_mask,
    number_dropouts,
    replace_layers,
    sample_mask,
    step_key,
)


def images(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_dropout_mask_keeps_the_right_share_and_depends_on_every_key():
    mask = dropout_mask(torch.tensor(3), 0, 500, 400, 0.3)
    assert mask.shape == (500, 400)
    # 200,000 draws: the standard deviation of the mean is 0.001.
    assert abs(mask.double().mean().item() - 0.7) < 0.005
    assert abs(mask.double().mean(0) - 0.7).max() < 0.1
    assert torch.equal(mask, dropout_mask(torch.tensor(3), 0, 500, 400, 0.3))
    for other in (
        dropout_mask(torch.tensor(4), 0, 500, 400, 0.3),
        dropout_mask(torch.tensor(3), 1, 500, 400, 0.3),
    ):
        # Independent masks agree with probability 0.7^2 + 0.3^2 = 0.58.
        assert abs((mask == other).double().mean().item() - 0.58) < 0.01


def test_dropout_mask_of_many_keys_is_the_masks_of_each():
    keys = torch.tensor([[5, 7, 11], [2, 3, 5]])
    masks = dropout_mask(keys, 2, 4, 6, 0.5)
    assert masks.shape == (2, 3, 4, 6)
    for row in range(2):
        for column in range(3):
            assert torch.equal(masks[row, column], dropout_mask(keys[row, column], 2, 4, 6, 0.5))


def test_dropout_mask_of_a_sample_does_not_depend_on_the_batch_size():
    long, short = (dropout_mask(torch.tensor(1), 0, batch, 20, 0.5) for batch in (9, 4))
    assert torch.equal(long[:4], short)


def test_dropout_zeroes_and_rescales():
    layer, x = Dropout(0.2, layer_id=1), torch.ones(50, 3, 4, 5)
    key = torch.tensor(9)
    with step_key(key):
        out = layer(x)
    expected = dropout_mask(key, 1, 50, 60, 0.2).view(x.shape) * 1.25
    torch.testing.assert_close(out, expected)
    assert set(out.unique().tolist()) == {0.0, 1.25}


def test_dropout_is_the_same_alone_stacked_and_under_vmap():
    layer, keys, x = Dropout(0.5), torch.tensor([4, 8, 15]), images(3, 6, 10)

    def one(key, batch):
        with step_key(key):
            return layer(batch)

    alone = torch.stack([one(key, batch) for key, batch in zip(keys, x, strict=True)])
    assert torch.equal(one(keys, x), alone)
    assert torch.equal(vmap(one)(keys, x), alone)


def test_dropout_is_the_identity_in_evaluation_and_at_zero():
    x = images(2, 3)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_dropout_without_a_key_says_what_is_missing():
    with pytest.raises(RuntimeError, match=r"needs a key: run the model under `with step_key\(key\):`"):
        Dropout(0.5)(torch.ones(2, 3))


def test_contexts_end_also_after_an_error():
    with pytest.raises(ZeroDivisionError), step_key(torch.tensor(1)), sample_mask(torch.ones(2)):
        raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="needs a key"):
        Dropout(0.5)(torch.ones(2, 3))


def test_dropouts_are_numbered_in_order():
    model = number_dropouts(nn.Sequential(Dropout(0.1), nn.Sequential(Dropout(0.2)), Dropout(0.3)))
    assert [layer.layer_id for layer in model.modules() if isinstance(layer, Dropout)] == [0, 1, 2]


def batch_norms(**options):
    """Our layer and torch's, with the same weights and statistics that are not the initial ones."""
    ours, theirs = BatchNorm2d(3, **options), nn.BatchNorm2d(3, **options)
    with torch.no_grad():
        for layer in (ours, theirs):
            layer.weight.copy_(torch.tensor([0.5, 1.0, 2.0]))
            layer.bias.copy_(torch.tensor([-1.0, 0.0, 1.0]))
            if layer.running_mean is not None:
                layer.running_mean.copy_(torch.tensor([0.1, 0.2, 0.3]))
                layer.running_var.copy_(torch.tensor([1.5, 2.0, 2.5]))
    return ours, theirs


def assert_same_state(ours, theirs):
    assert list(ours) == list(theirs)
    for name in ours:
        torch.testing.assert_close(ours[name], theirs[name], rtol=1e-6, atol=1e-6)


def test_batch_norm_without_a_mask_is_torchs():
    ours, theirs = batch_norms()
    x = images(4, 3, 5, 5)
    assert torch.equal(ours(x), theirs(x))
    assert_same_state(ours.state_dict(), theirs.state_dict())
    with sample_mask(torch.tensor([1.0, 0.0, 0.0, 0.0])):  # evaluation uses the running statistics
        assert torch.equal(ours.eval()(x), theirs.eval()(x))


@pytest.mark.parametrize(
    "options", [{}, {"momentum": None}, {"momentum": 0.5, "eps": 0.1}, {"track_running_stats": False}]
)
def test_masked_batch_norm_is_torchs_on_the_real_samples(options):
    ours, theirs = batch_norms(**options)
    mask = torch.tensor([1.0, 1.0, 0.0, 1.0, 0.0])
    real = mask.bool()
    for step in range(3):
        x = images(5, 3, 4, 4, seed=step) * 2 + 1
        x[~real] = 1e3  # what padding holds must not matter
        ours_x, theirs_x = x.clone().requires_grad_(), x[real].clone().requires_grad_()
        with sample_mask(mask):
            out = ours(ours_x)
        expected = theirs(theirs_x)
        torch.testing.assert_close(out[real], expected, rtol=1e-5, atol=1e-6)
        ours_grads = torch.autograd.grad(out[real].pow(3).sum(), [ours_x, *ours.parameters()])
        theirs_grads = torch.autograd.grad(expected.pow(3).sum(), [theirs_x, *theirs.parameters()])
        torch.testing.assert_close(ours_grads[0][real], theirs_grads[0], rtol=1e-4, atol=1e-5)
        assert torch.equal(ours_grads[0][~real], torch.zeros_like(x[~real]))
        torch.testing.assert_close(ours_grads[1:], theirs_grads[1:], rtol=1e-5, atol=1e-5)
        assert_same_state(ours.state_dict(), theirs.state_dict())


def test_batch_norm_by_hand():
    layer = BatchNorm2d(1, eps=0.0)
    x = torch.tensor([1.0, 3.0, 8.0]).view(3, 1, 1, 1)
    with sample_mask(torch.tensor([1.0, 1.0, 0.0])):
        out = layer(x)
    # Mean 2, biased variance 1, unbiased variance 2; running values 0.9 * old + 0.1 * new.
    assert out[:2].flatten().tolist() == [-1.0, 1.0]
    torch.testing.assert_close(layer.running_mean, torch.tensor([0.2]))
    torch.testing.assert_close(layer.running_var, torch.tensor([1.1]))
    assert layer.num_batches_tracked == 1


def test_a_batch_of_padding_changes_no_statistics_and_stays_finite():
    ours, _ = batch_norms()
    before = copy.deepcopy(ours.state_dict())
    x = images(2, 3, 4, 4).requires_grad_()
    with sample_mask(torch.zeros(2)):
        out = ours(x)
    gradients = torch.autograd.grad((out * torch.zeros(2, 1, 1, 1)).sum(), [x, *ours.parameters()])
    assert out.isfinite().all()
    assert all(torch.equal(gradient, torch.zeros_like(gradient)) for gradient in gradients)
    assert all(torch.equal(value, before[name]) for name, value in ours.state_dict().items())


def test_masked_batch_norm_under_vmap_updates_every_clients_buffers():
    """Three clients with 4, 2 and 0 real samples, against torch's layer on each one's real samples."""
    ours, theirs = batch_norms()
    masks = torch.tensor([[1.0, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]])
    x = images(3, 4, 3, 5, 5)
    params = {name: torch.stack([p, 2 * p, 3 * p]).detach() for name, p in ours.named_parameters()}
    buffers = {name: torch.stack([b, b + 1, b + 2]) for name, b in ours.named_buffers()}
    start = {name: value.clone() for name, value in buffers.items()}

    def loss(params, buffers, x, mask):
        with sample_mask(mask):
            out = functional_call(ours, (params, buffers), (x,))
        return (out.pow(3) * mask[:, None, None, None]).sum()

    gradients = vmap(grad(loss))(params, buffers, x, masks)
    for client, mask in enumerate(masks.bool()):
        state = {name: value[client].clone() for name, value in (params | start).items()}
        theirs.load_state_dict(state)
        if mask.any():
            theirs.zero_grad()
            theirs(x[client][mask]).pow(3).sum().backward()
            for name, parameter in theirs.named_parameters():
                torch.testing.assert_close(gradients[name][client], parameter.grad, rtol=1e-5, atol=1e-4)
        assert_same_state(
            {name: value[client] for name, value in buffers.items()}, dict(theirs.named_buffers())
        )
    assert_same_state(dict(ours.named_buffers()), dict(batch_norms()[0].named_buffers()))


def test_replace_layers_takes_over_weights_and_settings():
    model = nn.Sequential(nn.BatchNorm2d(3, eps=0.1), nn.Sequential(nn.Dropout(0.7), nn.Linear(2, 2)))
    weight, state = model[0].weight, copy.deepcopy(model.state_dict())
    assert replace_layers(model) is model
    assert type(model[0]) is BatchNorm2d
    assert model[0].weight is weight
    assert model[0].eps == 0.1
    assert type(model[1][0]) is Dropout
    assert model[1][0].p == 0.7
    assert_same_state(model.state_dict(), state)


def test_repeated_channels_of_stacked_clients_stay_apart():
    clients = images(2, 3, 1, 4, 4)  # [clients, batch, 1, h, w]
    stacked = clients.transpose(0, 1).reshape(3, 2, 4, 4)
    layer = RepeatChannels(3)
    expected = torch.cat([layer(client) for client in clients], dim=1)
    assert torch.equal(layer(stacked), expected)
