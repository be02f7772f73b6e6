"""Titles of data sets, as sentences call them; rows and commands have the catalogue's names."""

TITLES = {
    "mnist": "MNIST",
    "mnist-5k": "MNIST (subset)",
    "fmnist": "Fashion-MNIST",
    "fmnist-embedded": "Fashion-MNIST (subset)",
    "cifar10": "CIFAR-10",
    "cifar10-jpeg": "CIFAR-10 (JPEG)",
    "cifar100": "CIFAR-100",
    "femnist": "FEMNIST",
    "chest-xray": "chest X-rays",
    "crisis-ibd": "CrisisIBD",
    "pneumoniamnist-subset": "PneumoniaMNIST (subset)",
    "standin-cifar100": "CIFAR-100 (stand-in)",
    "standin-femnist": "FEMNIST (stand-in)",
    "standin-xray": "chest X-rays (stand-in)",
    "standin-crisis": "CrisisIBD (stand-in)",
}


def title_of(name: str) -> str:
    """The title of a data set; the name itself for a set that the catalogue does not have."""
    return TITLES.get(name, name)
