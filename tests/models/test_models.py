"""Models by name: parameter counts from the papers, shapes, seeds, errors."""

import pytest
import torch
from torch import nn

from fedlib._torchvision import load_torchvision
from fedlib.errors import DataError, UsageError
from fedlib.models import MODELS, check_fits, count_parameters, make_model, model_options
from fedlib.models.layers import BatchNorm2d, Dropout

GREY28, GREY32, COLOUR32 = (1, 28, 28), (1, 32, 32), (3, 32, 32)


def build(name, image_shape=GREY28, num_classes=10, generator_seed=0, **options):
    return make_model(
        name, image_shape=image_shape, num_classes=num_classes, generator_seed=generator_seed, **options
    )


@pytest.mark.parametrize(
    ("name", "image_shape", "num_classes", "options", "parameters"),
    [
        ("mlp", GREY28, 10, {}, 784 * 100 + 100 + 100 * 10 + 10),
        ("mlp", GREY28, 10, {"hidden": 7}, 784 * 7 + 7 + 7 * 10 + 10),
        ("lenet", GREY28, 10, {}, 260 + 5_020 + 16_050 + 510),
        ("lenet", COLOUR32, 10, {}, 760 + 5_020 + 25_050 + 510),
        ("lenet5", GREY28, 10, {}, 44_426),
        ("lenet5", COLOUR32, 10, {}, 62_006),
        ("cnn-small", GREY28, 10, {}, 160 + 4_640 + 2_890),
        ("cnn-small", COLOUR32, 7, {}, 448 + 4_640 + 3_591),
        ("cnn-feddrl", GREY28, 10, {}, 582_026),
        ("cnn-mcmahan", GREY28, 10, {}, 1_663_370),
        ("cnn-feddisk", GREY32, 2, {"width": 32}, 39_442),
        ("cnn-feddisk", GREY28, 62, {"width": 128}, 447_406),
        ("cnn-feddisk", GREY32, 62, {"width": 128}, 465_838),
        ("cnn-feddisk", GREY28, 10, {}, 11_178),
        ("cnn-frl", GREY28, 10, {}, 1_199_882),
        ("vgg11", COLOUR32, 100, {}, 9_797_092),
        ("vgg11", COLOUR32, 10, {}, 9_750_922),
        ("mobilenetv2", COLOUR32, 10, {}, 2_236_682),
        ("mobilenetv2", COLOUR32, 7, {}, 2_232_839),
        ("mobilenetv2", GREY28, 10, {}, 2_236_682),
    ],
)
def test_parameter_count_and_output_shape(name, image_shape, num_classes, options, parameters):
    model = build(name, image_shape, num_classes, **options).eval()
    assert count_parameters(model) == parameters
    assert model(torch.zeros(3, *image_shape)).shape == (3, num_classes)


def test_layers_of_a_users_model_are_those_that_leave_padding_out(monkeypatch):
    drop = nn.Dropout(0.4)  # at two places
    monkeypatch.setitem(MODELS, "own", lambda shape, classes: nn.Sequential(nn.BatchNorm2d(1), drop, drop))
    assert [type(layer) for layer in build("own")] == [BatchNorm2d, Dropout, Dropout]
    monkeypatch.setitem(MODELS, "own", lambda shape, classes: nn.Sequential(nn.Dropout2d()))
    with pytest.raises(UsageError, match=r"model with Dropout2d given; allowed: nn\.Dropout"):
        build("own")


def test_count_leaves_out_frozen_parameters():
    layer = nn.Linear(3, 2)
    layer.bias.requires_grad_(False)
    assert count_parameters(layer) == 6


@pytest.mark.parametrize("name", sorted(MODELS))
def test_weights_are_a_function_of_the_seed_alone(name):
    image_shape = COLOUR32
    torch.manual_seed(1)
    first = build(name, image_shape, generator_seed=5).state_dict()
    torch.manual_seed(2)
    again = build(name, image_shape, generator_seed=5).state_dict()
    other = build(name, image_shape, generator_seed=6).state_dict()
    assert first.keys() == again.keys()
    assert all(torch.equal(first[key], again[key]) for key in first)
    weights = [key for key in first if key.endswith("weight") and first[key].dim() > 1]
    assert not any(torch.equal(first[key], other[key]) for key in weights)


def test_global_random_state_is_untouched():
    before = torch.get_rng_state()
    build("lenet")
    assert torch.equal(torch.get_rng_state(), before)


def test_seed_may_be_the_names_of_a_stream():
    by_names, again, other = (
        build("mlp", generator_seed=names).fc1.weight
        for names in ((0, "weights"), (0, "weights"), (1, "weights"))
    )
    assert torch.equal(by_names, again)
    assert not torch.equal(by_names, other)


def test_dropout_layers_are_numbered_and_feddrl_drops_before_fc1():
    ids = [layer.layer_id for layer in build("cnn-frl").modules() if isinstance(layer, Dropout)]
    assert ids == [0, 1]
    names = [name for name, _ in build("cnn-feddrl").named_children()]
    assert names[names.index("fc1") - 1] == "dropout1"
    assert build("cnn-feddrl").dropout1.p == 0.2


def test_feddisk_normalises_behind_the_pool():
    names = [name for name, _ in build("cnn-feddisk").named_children()]
    assert names[:4] == ["conv1", "pool1", "relu1", "bn1"]


def test_pool_before_relu_is_the_same_function_with_the_same_gradient():
    images = torch.randn(4, *GREY28, generator=torch.Generator().manual_seed(0))
    model = build("lenet")
    hidden = images
    for name in ("conv1", "relu1", "pool1", "conv2", "relu2", "pool2", "flatten", "fc1", "relu3", "fc2"):
        hidden = model.get_submodule(name)(hidden)
    by_hand = torch.autograd.grad(hidden.square().sum(), model.conv1.weight)[0]
    given = torch.autograd.grad(model(images).square().sum(), model.conv1.weight)[0]
    torch.testing.assert_close(given, by_hand)


def test_vgg_initialisation_keeps_the_signal_alive():
    images = torch.randn(8, *COLOUR32, generator=torch.Generator().manual_seed(0))
    model = build("vgg11", COLOUR32).eval()
    spread = model(images).std(0).mean()
    for layer in model:
        if isinstance(layer, nn.Conv2d):
            layer.reset_parameters()  # torch's default
    assert spread > 20 * model(images).std(0).mean()


def test_mobilenet_agrees_with_torchvision():
    torchvision = load_torchvision()

    model = build("mobilenetv2", COLOUR32).eval()
    theirs = torchvision.models.mobilenet_v2(weights=None, num_classes=10).eval()
    theirs.features.load_state_dict(model.features.state_dict())
    theirs.classifier[1].load_state_dict(model.fc.state_dict())
    images = torch.randn(2, *COLOUR32, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(model(images), theirs(images))


def test_mobilenet_holds_no_layer_of_torch_with_hidden_state():
    kinds = {type(layer) for layer in build("mobilenetv2", COLOUR32).modules()}
    assert {BatchNorm2d, Dropout} <= kinds
    assert not {nn.BatchNorm2d, nn.Dropout} & kinds


def test_mobilenet_resizes_and_repeats_channels_of_grey_images():
    grey = torch.rand(2, *GREY28, generator=torch.Generator().manual_seed(0))
    model = build("mobilenetv2", GREY28, resize=48).eval()
    large = nn.functional.interpolate(grey, size=(48, 48), mode="bilinear").expand(-1, 3, -1, -1)
    plain = build("mobilenetv2", (3, 48, 48)).eval()
    torch.testing.assert_close(model(grey), plain(large))


def test_mobilenet_loads_local_weights_for_all_but_the_head(tmp_path):
    torchvision = load_torchvision()

    theirs = torchvision.models.mobilenet_v2(weights=None, num_classes=3).eval()
    path = tmp_path / "weights.pth"
    torch.save(theirs.state_dict(), path)
    images = torch.rand(2, *GREY32, generator=torch.Generator().manual_seed(0))
    expected = theirs.features(images.expand(-1, 3, -1, -1))
    model = build("mobilenetv2", GREY32, weights_file=str(path)).eval()
    trunk = model[: list(dict(model.named_children())).index("pool")]
    torch.testing.assert_close(trunk(images), expected, rtol=1e-4, atol=1e-6)
    assert torch.equal(model.fc.weight, build("mobilenetv2", GREY32).fc.weight)


def test_mobilenet_names_an_absent_or_damaged_weights_file(tmp_path):
    with pytest.raises(DataError, match=r"no ImageNet weights at .*gone\.pth; get them from https://"):
        build("mobilenetv2", COLOUR32, weights_file=str(tmp_path / "gone.pth"))
    damaged = tmp_path / "damaged.pth"
    wrong = tmp_path / "wrong.pth"
    listed = tmp_path / "listed.pth"
    damaged.write_bytes(b"no archive")
    torch.save({"features.0.0.weight": torch.zeros(1)}, wrong)
    torch.save([1, 2], listed)
    for path in (damaged, wrong, listed):
        with pytest.raises(DataError, match=rf"{path.name} is not a MobileNetV2 state dict") as caught:
            build("mobilenetv2", COLOUR32, weights_file=str(path))
        assert "\n" not in str(caught.value)


def test_options_and_defaults_can_be_listed():
    assert model_options("cnn-feddisk") == {"width": 16}
    assert model_options("lenet") == {}


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("lenett", {}, r"unknown model 'lenett' \(did you mean 'lenet'\?\); allowed: mlp, lenet, "),
        (
            "mlp",
            {"hiden": 3},
            r"unknown option of model mlp 'hiden' \(did you mean 'hidden'\?\); allowed: hidden",
        ),
        ("lenet", {"width": 3}, r"model lenet has no options, but 'width' was given"),
        ("mlp", {"hidden": 0}, r"model mlp: hidden must be a whole number of at least 1, not 0"),
        ("mlp", {"hidden": "a"}, r"model mlp: hidden='a' given; allowed: a whole number"),
        ("cnn-feddrl", {"dropout": 1.0}, r"dropout must be a number in \[0, 1\), not 1\.0"),
        ("vgg11", {}, r"model vgg11 takes 32x32 images, not 28x28"),
        ("lenet", {"image_shape": (1, 15, 40)}, r"images of at least 16x16 pixels, not 15x40"),
        ("cnn-mcmahan", {"image_shape": (1, 3, 3)}, r"images of at least 4x4 pixels, not 3x3"),
        ("cnn-frl", {"image_shape": (1, 5, 6)}, r"images of at least 6x6 pixels, not 5x6"),
        ("mobilenetv2", {"image_shape": (2, 32, 32)}, r"images of 1 or 3 channels, not 2"),
        ("mobilenetv2", {"weights_file": 1}, r"weights_file=1 given; allowed: text or null"),
        ("mobilenetv2", {"resize": 0}, r"resize must be a whole number of at least 1, not 0"),
        (
            "mlp",
            {"image_shape": (28, 28)},
            r"image_shape must be \(channels, height, width\).*not \(28, 28\)",
        ),
        ("mlp", {"num_classes": 1}, r"num_classes must be a whole number of at least 2, not 1"),
    ],
)
def test_wrong_input_gives_one_clear_line(name, arguments, message):
    with pytest.raises(UsageError, match=message) as caught:
        build(name, **arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "side"),
    [("lenet", 16), ("cnn-feddrl", 16), ("cnn-mcmahan", 4), ("cnn-feddisk", 16), ("cnn-frl", 6)],
)
def test_the_smallest_allowed_image_works(name, side):
    assert build(name, (1, side, side)).eval()(torch.zeros(2, 1, side, side)).shape == (2, 10)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (nn.Sequential(nn.Flatten(), nn.Linear(3, 2)), r"model 'own' does not take inputs \(1, 4, 4\): "),
        (nn.Flatten(), r"model 'own' makes \(1, 16\) of one image; allowed: \(1, 2\), a logit per class"),
    ],
)
def test_a_network_that_does_not_fit_the_images_is_refused(network, message):
    with pytest.raises(UsageError, match=message):
        check_fits("own", network, (1, 4, 4), 2)
    assert network.training
    check_fits("own", nn.Sequential(nn.Flatten(), nn.BatchNorm1d(16), nn.Linear(16, 2)), (1, 4, 4), 2)
