"""Stand-ins are deterministic, balanced, skewed as promised, and neither trivial nor hopeless."""

import numpy as np
import pytest

from fedlib import data
from fedlib.data.class_names import GLYPHS
from fedlib.data.dataset import Dataset
from fedlib.data.synthetic import chest_xray, standins
from fedlib.errors import UsageError

SMALL = {
    "standin-cifar100": {"train_per_class": 20, "test_per_class": 5},
    "standin-femnist": {"writers": 12},
    "standin-xray": {"images": 2000},
    "standin-crisis": {"train_per_class": 100, "test_per_class": 30},
}
# raise standins.VERSION together with a change here: cached copies are then made anew
CHECKSUMS = {
    "standin-cifar100": "492de7406f50a08f",
    "standin-femnist": "31fddd24f802e523",
    "standin-xray": "2374211f93bf3bde",
    "standin-crisis": "42396abd35a8d35a",
}


@pytest.fixture(scope="module")
def small() -> dict[str, Dataset]:
    return {name: build(**SMALL[name]) for name, (_, build, _) in standins.STAND_INS.items()}


@pytest.mark.parametrize("name", SMALL)
def test_the_images_are_always_the_same(small, name):
    assert small[name].checksum.startswith(CHECKSUMS[name])
    assert small[name].stand_in
    assert small[name].origin.startswith("generated")


def test_a_cached_stand_in_is_the_generated_one(small):
    for _ in range(2):
        loaded = data.load_dataset("standin-xray", **SMALL["standin-xray"])
        assert loaded.checksum == small["standin-xray"].checksum
        assert loaded.stand_in


@pytest.mark.parametrize(
    ("name", "train", "test"), [("standin-cifar100", 20, 5), ("standin-crisis", 100, 30)]
)
def test_classes_are_balanced(small, name, train, test):
    for split, count in ((small[name].train, train), (small[name].test, test)):
        assert np.bincount(split.labels).tolist() == [count] * small[name].num_classes


def test_shapes_and_classes(small):
    shapes = {name: (dataset.image_shape, dataset.num_classes) for name, dataset in small.items()}
    assert shapes == {
        "standin-cifar100": ((3, 32, 32), 100),
        "standin-femnist": ((1, 28, 28), 62),
        "standin-xray": ((1, 32, 32), 2),
        "standin-crisis": ((3, 32, 32), 7),
    }
    assert small["standin-femnist"].class_names == GLYPHS


def test_writers_have_more_than_300_images_and_a_test_part_each(small):
    femnist = small["standin-femnist"]
    train, test = (np.bincount(split.groups, minlength=12) for split in (femnist.train, femnist.test))
    assert (train + test > 300).all()
    np.testing.assert_array_equal(test, [round(0.15 * count) for count in train + test])
    assert len(femnist.group_names) == 12


def test_writer_sizes_follow_the_printed_mean_and_spread():
    # the law used by build_femnist: 301 + Gamma(1.08, 80), against 387.47 +- 83.04 (protocols 2.3)
    sizes = 301 + np.random.default_rng(0).gamma(1.08, 80.0, 200_000)
    assert sizes.mean() == pytest.approx(387.47, abs=1)
    assert sizes.std() == pytest.approx(83.04, abs=1)


def test_xray_groups_are_2_15_33_of_50_and_balanced(small):
    xray = small["standin-xray"]
    groups = np.concatenate([xray.train.groups, xray.test.groups])
    labels = np.concatenate([xray.train.labels, xray.test.labels])
    assert np.bincount(groups).tolist() == [80, 600, 1320]  # FEDDISK-A23
    assert np.bincount(groups * 2 + labels).tolist() == [40, 40, 300, 300, 660, 660]


def test_xray_styles_drawn_together():
    """Brightness of the styles' mean pictures: at 20 percent about a fifth as far apart."""

    def levels(spread):
        train = standins.build_xray(images=2000, spread=spread).train
        return np.array([train.images[train.groups == group, 8:].mean() for group in range(3)])

    apart = {spread: np.ptp(levels(spread)) for spread in (100, 20, 1)}
    assert apart[20] == pytest.approx(0.2 * apart[100], rel=0.35)
    assert apart[1] < 0.05 * apart[100]
    assert chest_xray.machines(100) == chest_xray.MACHINES
    zooms = [machine.zoom for machine in chest_xray.machines(50)]
    mean = (2 * 1.0 + 15 * 1.2 + 33 * 0.85) / 50
    assert zooms == pytest.approx([(zoom + mean) / 2 for zoom in (1.0, 1.2, 0.85)])
    assert [machine.marker for machine in chest_xray.machines(50)] == [True, False, False]
    with pytest.raises(UsageError, match="spread=150 given for data set 'standin-xray'; allowed: 1 to 100"):
        data.load_dataset("standin-xray", images=2000, spread=150)


def _features(images: np.ndarray) -> np.ndarray:
    return images.reshape(len(images), -1) / 255.0


def _linear_accuracy(train_x, train_y, test_x, test_y, ridge: float = 30.0) -> float:
    """Test accuracy of ridge regression onto one-hot labels: the simplest linear classifier."""
    mean = train_x.mean(0)
    train_x, test_x = train_x - mean, test_x - mean
    targets = np.eye(train_y.max() + 1)[train_y]
    dual = np.linalg.solve(train_x @ train_x.T + ridge * np.eye(len(train_x)), targets - targets.mean(0))
    return float(((test_x @ (train_x.T @ dual)).argmax(1) == test_y).mean())


def _nearest_centroid(train_x, train_y, test_x, test_y) -> float:
    """Accuracy of the class whose mean features are nearest."""
    centroids = np.stack([train_x[train_y == label].mean(0) for label in range(train_y.max() + 1)])
    away = (centroids**2).sum(1) - 2 * test_x @ centroids.T
    return float((away.argmin(1) == test_y).mean())


@pytest.mark.parametrize(
    # chance: 0.01, 0.08 (digits), 0.5, 0.14; a small CNN on the full sets reaches 0.75 to 0.91
    ("name", "floor"),
    [("standin-cifar100", 0.1), ("standin-femnist", 0.15), ("standin-xray", 0.65), ("standin-crisis", 0.3)],
)
def test_classes_differ_and_are_not_trivial(small, name, floor):
    train, test = small[name].train, small[name].test
    accuracy = _linear_accuracy(_features(train.images), train.labels, _features(test.images), test.labels)
    assert floor < accuracy < 0.9


def test_groups_differ_in_style(small):
    """A picture tells its source better than by chance, from brightness and contrast alone."""
    for name, floor in (("standin-xray", 0.8), ("standin-femnist", 0.3)):
        train, test = small[name].train, small[name].test
        features = [
            np.stack([split.images.mean((1, 2)), split.images.std((1, 2)), split.images.max((1, 2))], 1)
            for split in (train, test)
        ]
        assert _nearest_centroid(features[0], train.groups, features[1], test.groups) > floor
