"""Class names and normalisation constants of the public data sets."""

import string

FMNIST_CLASSES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
DIGITS = tuple(string.digits)
# LEAF's order of FEMNIST's 62 classes: digits, capitals, small letters
GLYPHS = tuple(string.digits + string.ascii_uppercase + string.ascii_lowercase)
CIFAR10_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
XRAY_CLASSES = ("normal", "abnormal")
# CrisisIBD, task disaster types (FEDDDRL-A38), as written in the official TSV files
CRISIS_CLASSES = ("earthquake", "fire", "flood", "hurricane", "landslide", "not_disaster", "other_disaster")

# FEDDRL-A39: MNIST's constants for Fashion-MNIST too; CIFAR to [-1, 1]
GREY_DIGITS = {"mean": (0.1307,), "std": (0.3081,)}
CENTRED_GREY = {"mean": (0.5,), "std": (0.5,)}
CENTRED_COLOUR = {"mean": (0.5,) * 3, "std": (0.5,) * 3}
