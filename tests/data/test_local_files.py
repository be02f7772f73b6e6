"""Loaders of local files, on small files in the official layouts."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fedlib import data
from fedlib.data.class_names import CRISIS_CLASSES, GLYPHS
from fedlib.errors import DataError, UsageError


def _npz(path, **changes):
    arrays = {
        "train_images": np.arange(6 * 16, dtype=np.uint8).reshape(6, 4, 4),
        "train_labels": np.array([[0], [1], [2], [0], [1], [2]], dtype=np.uint8),
        "test_images": np.zeros((3, 4, 4), dtype=np.uint8),
        "test_labels": np.array([2, 1, 0]),
    } | changes
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})


class TestNpz:
    def test_the_name_is_the_file_name_and_hyphens_are_underscores(self, folder):
        _npz(folder / "tiny_set.npz", val_images=np.zeros((1, 4, 4), np.uint8), val_labels=np.array([0]))
        assert "tiny-set" in data.dataset_names()
        for name in ("tiny-set", "tiny_set"):
            tiny = data.load_dataset(name)
            assert (tiny.name, tiny.num_classes, len(tiny.train)) == ("tiny-set", 3, 6)
        assert tiny.train.labels.tolist() == [0, 1, 2, 0, 1, 2]
        assert tiny.train.images[1, 0].tolist() == [16, 17, 18, 19]
        assert "tiny_set.npz" in tiny.origin
        assert isinstance(tiny.train.images, np.memmap)

    def test_mnist_may_be_one_file_and_says_so(self, folder):
        whole = {
            f"{part}_{what}": np.zeros((number, *shape), np.uint8)
            for part, number in (("train", 60_000), ("test", 10_000))
            for what, shape in (("images", (28, 28)), ("labels", ()))
        }
        _npz(folder / "mnist.npz", **whole)
        mnist = data.load_dataset("mnist")
        assert "mnist.npz" in mnist.origin
        assert mnist.num_classes == 10

    def test_a_public_name_is_refused_to_other_images(self, folder):
        _npz(folder / "mnist.npz")
        with pytest.raises(DataError) as told:
            data.load_dataset("mnist")
        assert str(told.value) == (
            f"{folder}/mnist.npz: 6 training and 3 test images of the shape (4, 4); the data set mnist has "
            "60,000 training and 10,000 test images of the shape (28, 28); give a file of other images "
            "another name"
        )

    def test_labels_that_no_image_has_are_told_once(self, folder):
        labels = {"train_labels": np.array([1, 2, 4, 1, 2, 4]), "test_labels": np.array([4, 2, 1])}
        _npz(folder / "tiny.npz", **labels)
        with pytest.warns(UserWarning, match=r": no image has label 0, 3, which .* of 0\.\.4") as told:
            assert data.load_dataset("tiny").num_classes == 5
        assert len(told) == 1
        assert data.load_dataset("tiny").num_classes == 5  # kept by now; nothing more is said
        labels = {"train_labels": np.zeros(6, int), "test_labels": np.zeros(3, int)}
        _npz(folder / "pneumoniamnist_subset.npz", **labels)  # whose classes are known
        assert data.load_dataset("pneumoniamnist-subset").num_classes == 2

    def test_a_changed_file_is_read_again(self, folder):
        _npz(folder / "tiny.npz")
        before = data.load_dataset("tiny").checksum
        _npz(folder / "tiny.npz", train_images=np.ones((6, 4, 4), np.uint8), test_labels=np.array([2, 2, 2]))
        assert data.load_dataset("tiny").checksum != before

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"test_labels": None}, r"tiny.npz: no array 'test_labels'; found: .*; needed: train_images"),
            (
                {"train_images": np.zeros((6, 4, 4))},
                r"tiny, train: images have dtype float64; allowed: uint8",
            ),
            ({"train_images": np.zeros((6, 16), np.uint8)}, r"images have shape \(6, 16\); allowed"),
            (
                {"train_images": np.zeros((6, 4, 4, 2), np.uint8)},
                r"images have shape \(6, 4, 4, 2\); allowed",
            ),
            ({"train_labels": np.zeros(5, np.int64)}, r"labels have shape \(5,\); allowed: \(6,\)"),
            ({"train_labels": np.zeros(6)}, r"train_labels have dtype float64; allowed: integers"),
            ({"train_labels": np.full(6, -1)}, r"labels range over -1..-1"),
            ({"test_labels": np.array([0, 1, 3])}, r"test: labels range over 0..3; allowed: 0..2"),
            ({"test_images": np.zeros((3, 5, 4), np.uint8)}, r"differ in shape: \(4, 4\) and \(5, 4\)"),
            (
                {"test_images": np.zeros((0, 4, 4), np.uint8), "test_labels": np.zeros(0, int)},
                r"test: no images",
            ),
        ],
    )
    def test_wrong_content_is_told(self, folder, changes, message):
        _npz(folder / "tiny.npz", **changes)
        with pytest.raises(DataError, match=message) as told:
            data.load_dataset("tiny")
        assert "tiny.npz" in str(told.value)
        assert "\n" not in str(told.value)

    def test_a_truncated_file_is_told(self, folder):
        _npz(folder / "tiny.npz")
        content = (folder / "tiny.npz").read_bytes()
        (folder / "tiny.npz").write_bytes(content[: len(content) // 2])
        with pytest.raises(DataError, match=r"tiny.npz is damaged or no .npz file"):
            data.load_dataset("tiny")

    def test_a_file_that_is_no_archive_is_told_before_it_is_read(self, folder):
        """Nothing of pickles, which NumPy takes such a file for."""
        (folder / "text.npz").write_text("hello")
        with pytest.raises(
            DataError, match=r"text.npz is damaged or no .npz file \(no zip archive\); put an"
        ):
            data.load_dataset("text")
        (row,) = [row for row in data.describe_datasets() if row.name == "text"]
        assert row.state == "damaged"

    def test_labels_that_are_objects_are_told_by_their_kind(self, folder):
        _npz(folder / "tiny.npz", train_labels=np.array(["a"] * 8, dtype=object))
        with pytest.raises(DataError, match=r"tiny.npz: train_labels have dtype object; allowed: integers"):
            data.load_dataset("tiny")

    def test_a_known_file_that_is_absent_is_named(self, folder):
        with pytest.raises(
            DataError, match=rf"cifar10-jpeg is absent: looked for the file {folder}/cifar10_jpeg.npz"
        ):
            data.load_dataset("cifar10-jpeg")


def _leaf(path, users):
    path.parent.mkdir(parents=True, exist_ok=True)
    shard = {
        "users": list(users),
        "num_samples": [len(labels) for labels in users.values()],
        "user_data": {
            user: {"x": [[label / 62] * 784 for label in labels], "y": labels}
            for user, labels in users.items()
        },
    }
    path.write_text(json.dumps(shard))


class TestFemnist:
    def test_leaf_shards_are_held_out_by_writer(self, folder):
        _leaf(folder / "femnist/all_data/all_data_0.json", {"f0002": list(range(20)), "f0001": [61] * 40})
        _leaf(folder / "femnist/all_data/all_data_1.json", {"f0003": [5]})
        femnist = data.load_dataset("femnist")
        assert femnist.group_names == ("f0001", "f0002", "f0003")
        assert femnist.class_names[10] == "A"
        # 15 % of 40 and of 20; a single image stays in training
        assert np.bincount(femnist.test.groups).tolist() == [6, 3]
        assert np.bincount(femnist.train.groups).tolist() == [34, 17, 1]
        for split in (femnist.train, femnist.test):  # x was label / 62, so the pixels tell the label
            np.testing.assert_array_equal(split.images[:, 3, 4], np.rint(split.labels / 62 * 255))

    def test_leaf_split_folders_are_kept(self, folder):
        _leaf(folder / "femnist/train/a.json", {"f1": [1, 2, 3], "f2": [4]})
        _leaf(folder / "femnist/test/a.json", {"f1": [7]})
        femnist = data.load_dataset("femnist")
        assert femnist.train.labels.tolist() == [1, 2, 3, 4]
        assert femnist.test.labels.tolist() == [7]
        assert femnist.train.groups.tolist() == [0, 0, 0, 1]

    def test_half_a_split_is_incomplete(self, folder):
        _leaf(folder / "femnist/train/a.json", {"f1": [1, 2]})
        with pytest.raises(DataError, match=r"incomplete: .* shards in train/ but none in test/"):
            data.load_dataset("femnist")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("{", r"a.json is damaged or no LEAF shard"),
            ('{"users": ["f1"], "user_data": {}}', r"a.json is damaged or no LEAF shard \(KeyError"),
            (
                json.dumps({"users": ["f"], "user_data": {"f": {"x": [[0] * 784], "y": [62]}}}),
                r"labels range over 62..62; allowed: 0..61",
            ),
            (
                json.dumps({"users": ["f"], "user_data": {"f": {"x": [[2] * 784], "y": [1]}}}),
                r"pixels range over 510..510 of 0..255",
            ),
            (
                json.dumps({"users": ["f"], "user_data": {"f": {"x": [[0] * 784], "y": [1, 2]}}}),
                r"2 labels for 1 images",
            ),
        ],
    )
    def test_a_damaged_shard_is_named(self, folder, content, message):
        (folder / "femnist").mkdir()
        (folder / "femnist/a.json").write_text(content)
        with pytest.raises(DataError, match=message):
            data.load_dataset("femnist")

    @staticmethod
    def _png(value):
        buffer = io.BytesIO()
        Image.fromarray(np.full((28, 28), value, np.uint8)).save(buffer, "PNG")
        return buffer.getvalue()

    def test_parquet_with_encoded_pictures(self, folder):
        (folder / "femnist").mkdir()
        frame = pd.DataFrame(
            {
                "image": [{"bytes": self._png(i), "path": None} for i in range(20)],
                "writer_id": ["w1"] * 10 + ["w0"] * 10,
                "hsf_id": 0,
                "character": [10] * 10 + [11] * 10,
            }
        )
        frame.to_parquet(folder / "femnist" / "train-00000.parquet")
        femnist = data.load_dataset("femnist")
        assert femnist.group_names == ("w0", "w1")
        assert "parquet" in femnist.origin
        for split in (femnist.train, femnist.test):
            np.testing.assert_array_equal(split.labels, np.where(split.groups == 1, 10, 11))
            np.testing.assert_array_equal(split.images[:, 0, 0] < 10, split.groups == 1)

    def test_parquet_with_arrays_and_glyphs(self, folder):
        (folder / "femnist").mkdir()
        frame = pd.DataFrame(
            {"image": [[9.0] * 784, [7.0] * 784], "writer_id": ["w", "w"], "label": ["a", "Z"]}
        )
        frame.to_parquet(folder / "femnist" / "x.parquet")
        # two images of one writer leave round(0.3) = 0 for the test, which no run could use
        with pytest.raises(DataError, match="test: no images"):
            data.load_dataset("femnist")
        pd.concat([frame] * 4).to_parquet(folder / "femnist" / "x.parquet")
        femnist = data.load_dataset("femnist")
        assert set(femnist.train.labels) == {GLYPHS.index("a"), GLYPHS.index("Z")}

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"writer_id": None}, r"x.parquet: no column 'writer_id'; found: image, label"),
            ({"label": ["é"]}, r"x.parquet: label 'é'; allowed"),
            ({"image": [[0.0] * 10]}, r"x.parquet: an image has 10 pixels; allowed: 784"),
            ({"image": [b"no picture"]}, r"x.parquet holds a damaged picture"),
        ],
    )
    def test_a_wrong_parquet_file_is_told(self, folder, columns, message):
        (folder / "femnist").mkdir()
        columns = {"image": [[0.0] * 784], "writer_id": ["w"], "label": ["a"]} | columns
        frame = pd.DataFrame({key: value for key, value in columns.items() if value is not None})
        frame.to_parquet(folder / "femnist" / "x.parquet")
        with pytest.raises(DataError, match=message):
            data.load_dataset("femnist")


def _picture(path, value, *, mode="L"):
    path.parent.mkdir(parents=True, exist_ok=True)
    shape = (40, 50, 3) if mode == "RGB" else (40, 50)
    Image.fromarray(np.full(shape, value, np.uint8)).save(path)


class TestXray:
    @staticmethod
    def _sources(folder, *sources):
        for source in sources:
            for label, name in enumerate(("normal", "abnormal")):
                for index in range(10):
                    _picture(folder / "chest-xray" / source / name / f"{index}.png", 100 + label)

    def test_sources_are_groups_and_shenzhen_is_inverted(self, folder):
        self._sources(folder, "kermany", "Shenzhen")
        _picture(folder / "chest-xray/kermany/normal/masks/0.png", 0)
        _picture(folder / "chest-xray/kermany/PNEUMONIA/x.jpeg", 101)
        xray = data.load_dataset("chest-xray")
        assert xray.group_names == ("Shenzhen", "kermany")  # FEDDISK-A23
        assert xray.image_shape == (1, 32, 32)
        assert len(xray.train) + len(xray.test) == 41
        assert np.bincount(xray.test.groups * 2 + xray.test.labels).tolist() == [2, 2, 2, 2]
        for split in (xray.train, xray.test):
            expected = np.where(split.groups == 0, 255 - (100 + split.labels), 100 + split.labels)
            np.testing.assert_array_equal(split.images[:, 16, 16], expected)

    def test_size_is_an_option_with_its_own_cache(self, folder):
        self._sources(folder, "a")
        assert data.load_dataset("chest-xray", size=16).image_shape == (1, 16, 16)
        assert data.load_dataset("chest-xray").image_shape == (1, 32, 32)

    def test_a_source_without_one_class_is_incomplete(self, folder):
        self._sources(folder, "a")
        _picture(folder / "chest-xray/b/normal/0.png", 1)
        with pytest.raises(DataError, match=r"incomplete: no picture in .*chest-xray/b/abnormal"):
            data.load_dataset("chest-xray")

    def test_a_truncated_picture_is_named(self, folder):
        self._sources(folder, "a")
        path = folder / "chest-xray/a/normal/3.png"
        path.write_bytes(path.read_bytes()[:60])
        with pytest.raises(DataError, match=r"a/normal/3.png is damaged or no picture"):
            data.load_dataset("chest-xray")


class TestCrisis:
    @staticmethod
    def _benchmark(folder, *, labels=CRISIS_CLASSES):
        root = folder / "crisis_vision_benchmarks"
        table = root / "tasks/disaster_types/consolidated"
        table.mkdir(parents=True)
        for split in ("train", "test"):
            rows = ["source\timage_id\timage_path\tclass_label"]
            for index, label in enumerate(labels):
                name = f"data/aidr_disaster_types/{split}{index}.jpg"
                rows.append(f"aidr\t{index}\t{name}\t{label}")
                _picture(root / name, (index * 30, 0, 255), mode="RGB")
            (table / f"consolidated_disaster_types_{split}_final.tsv").write_text("\n".join(rows) + "\n")
        return root

    def test_the_official_layout(self, folder):
        self._benchmark(folder)
        crisis = data.load_dataset("crisis-ibd")
        assert crisis.class_names == CRISIS_CLASSES  # FEDDDRL-A38
        assert crisis.image_shape == (3, 64, 64)
        assert crisis.train.labels.tolist() == list(range(7))
        reds = crisis.test.images[:, 32, 32, 0].astype(int)
        assert np.abs(reds - np.arange(7) * 30).max() <= 4  # JPEG
        assert data.load_dataset("crisis-ibd", size=8).image_shape == (3, 8, 8)

    def test_missing_files_are_named(self, folder):
        root = self._benchmark(folder)
        (root / "data/aidr_disaster_types/train2.jpg").unlink()
        with pytest.raises(DataError, match=r"incomplete: 1 of 7 pictures .* the first is .*train2.jpg"):
            data.load_dataset("crisis-ibd")
        (root / "tasks/disaster_types/consolidated/consolidated_disaster_types_test_final.tsv").unlink()
        with pytest.raises(DataError, match=r"incomplete: no file .*types_test_final.tsv"):
            data.load_dataset("crisis-ibd")

    def test_an_unknown_label_or_column_is_told(self, folder):
        root = self._benchmark(folder, labels=("earthquake", "tornado"))
        with pytest.raises(DataError, match=r"class_label 'tornado'; allowed: earthquake, fire"):
            data.load_dataset("crisis-ibd")
        table = root / "tasks/disaster_types/consolidated/consolidated_disaster_types_train_final.tsv"
        table.write_text("image_path\tlabel\n")
        with pytest.raises(DataError, match=r"no column 'class_label'; found: image_path, label"):
            data.load_dataset("crisis-ibd")


def test_wrong_names_and_options_are_usage_errors():
    with pytest.raises(
        UsageError, match=r"unknown data set 'mnits' \(did you mean 'mnist'\?\); allowed: fmnist-emb"
    ):
        data.load_dataset("mnits")
    with pytest.raises(UsageError, match=r"unknown option of the data set chest-xray 'sice'.*allowed: size"):
        data.load_dataset("chest-xray", sice=3)
    with pytest.raises(UsageError, match=r"option size of the data set chest-xray is 0; allowed: an integer"):
        data.load_dataset("chest-xray", size=0)
    with pytest.raises(UsageError, match=r"unknown option of the data set mnist 'size'"):
        data.load_dataset("mnist", size=3)
