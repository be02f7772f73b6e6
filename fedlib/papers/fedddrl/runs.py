"""The runs behind FedDdrl's tables and figures: every printed setting at `paper`, sizes elsewhere.

Sec. 5 and table 3 of the paper: N = 100 clients (98 for CrisisIBD), 10 of them per round, T = 15,
E = 5, sigma = 0.8, mu = 0.01, alpha of Balanced-MixUp 0.05, 0.4, 0.2, 40 episodes. Local optimiser,
learning rate, batch and image size are not printed (FEDDDRL-A34, A35): `Scale.local` is chosen by
`fedddrl/sgd-search` on FedAvg's published accuracies, with and without Balanced-MixUp, and kept for all
methods; at `paper`, where the search has not been run, it is A34's own proposal. `SCALES` is the one
place where the profiles differ. All methods are tested on the same images, which no reward and no
choice of local SGD has seen: the rest, `Scale.server_share` of the test set, is the server's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fedlib.experiments.artifact import by_profile
from fedlib.run import Run

ALPHAS = {"MNIST": 0.05, "CIFAR-10": 0.4, "CrisisIBD": 0.2}  # of Balanced-MixUp, sec. 5
ROLE_OF = {
    "mnist": "MNIST", "fmnist-embedded": "MNIST", "cifar10": "CIFAR-10", "cifar10-jpeg": "CIFAR-10",
    "crisis-ibd": "CrisisIBD", "standin-crisis": "CrisisIBD",
}  # fmt: skip
WEIGHTS = {"w1": 2.9, "w2": 0.1, "w3": 0.2}
SHARES = (0.2, 0.4, 0.6, 0.8)  # of the clients that the two dropping rules keep
SIGMA, MU, EPOCHS = 0.8, 0.01, 5


@dataclass(frozen=True)
class Setting:
    """A row of table 4, or a control of ours. learns: trains its agents for 40 episodes first."""

    label: str  # the paper's name of the row
    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    mixup: bool = False
    learns: bool = False


TABLE4 = {
    "fedavg": Setting("FedAvg", "fedavg"),
    "fedavg_mixup": Setting("FedAvg + Balanced-MixUp", "fedavg", mixup=True),
    "fedprox": Setting("FedProx (mu=0.01)", "fedprox", {"mu": MU}),
    "fedprox_mixup": Setting("FedProx (mu=0.01) + Balanced-MixUp", "fedprox", {"mu": MU}, mixup=True),
    "fedmarl_a": Setting("A: FedMarl (w1=1.0 w2=0.1 w3=0.2)", "fedmarl", {**WEIGHTS, "w1": 1.0}, learns=True),
    "fedmarl_b": Setting("B: A + optimized (w1=2.9 w2=0.1 w3=0.2)", "fedmarl", WEIGHTS, learns=True),
    "fedmarl": Setting("C: B + Balanced-MixUp", "fedmarl", WEIGHTS, mixup=True, learns=True),
    "fedddrl": Setting(
        "D: C + local epoch adjustment (FedDdrl)", "fedddrl", {**WEIGHTS, "bias": None}, True, True
    ),
}
# FedAvg, FedProx, FedMarl, FedDdrl, all with Balanced-MixUp
FIG8 = ("fedavg_mixup", "fedprox_mixup", "fedmarl", "fedddrl")
# Reward (12) with b: what sec. 4.1.1 says repairs setting B.
FEDMARL_BIAS = Setting("B with the bias b", "fedmarl", {**WEIGHTS, "bias": None}, learns=True)
# Between C and D, which differ by b and by VDN 2 (A24).
FEDMARL_MIXUP_BIAS = Setting(
    "C with the bias b", "fedmarl", {**WEIGHTS, "bias": None}, mixup=True, learns=True
)
CONTROLS = {
    **{
        f"{rule}_{share:.0%}": Setting(f"{words} {share:.0%}", rule, {"keep_share": share}, mixup=True)
        for rule, words in (("random_drop", "random"), ("drop_slowest", "keep the fastest"))
        for share in SHARES
    },
    "fewest_epochs": Setting("fewest epochs for the slowest", "fewest_epochs", mixup=True),
}
SETTINGS = {**TABLE4, "fedmarl_bias": FEDMARL_BIAS, "fedmarl_mixup_bias": FEDMARL_MIXUP_BIAS, **CONTROLS}


@dataclass(frozen=True)
class Local:
    """Settings that the paper does not print: SGD's step and momentum, batch and image size."""

    rate: float
    momentum: float
    batch_size: int
    resize: int | None = None


@dataclass(frozen=True)
class Scale:
    """Scale of a profile: sizes, data sets and network."""

    datasets: Mapping[str, str]  # the paper's name: ours
    clients: Mapping[str, int]  # N
    images: Mapping[str, int | None]  # of each client; None: the most that is possible
    cohort: int
    rounds: int  # T of an episode
    episodes: int  # in which the agents learn
    evaluations: int  # episodes of a run, the same rounds for every method
    model: str | Mapping[str, str]  # or one for each of the paper's data sets
    local: Local
    search: tuple[Local, ...] = ()  # what `sgd-search` tries
    test_per_class: int | None = None
    server_share: float = 0.1  # of the test set, for the rewards: 1,000 images at `paper` (FEDDDRL-A9)


def _search(
    rates: Mapping[float, Iterable[float]], batches: Iterable[int], sizes: Iterable[int | None] = (None,)
) -> tuple[Local, ...]:
    """All combinations; rates: momentum -> steps (with 0.9 a step moves ten times as far in the end)."""
    steps = [(momentum, rate) for momentum, own in rates.items() for rate in own]
    return tuple(Local(r, m, b, s) for s in sizes for b in batches for m, r in steps)


SCALES = {
    "smoke": Scale(
        datasets={"MNIST": "fmnist-embedded", "CrisisIBD": "standin-crisis"},
        clients={"MNIST": 10, "CrisisIBD": 14},
        images={"MNIST": 20, "CrisisIBD": 20},
        cohort=4,
        rounds=3,
        episodes=1,
        evaluations=1,
        model="cnn-small",
        local=Local(0.1, 0.0, 10),
        search=_search({0.0: (0.03, 0.1), 0.9: (0.03, 0.1)}, (10,)),
        test_per_class=40,
        server_share=0.5,
    ),
    "reduced": Scale(
        datasets={"MNIST": "mnist", "CIFAR-10": "cifar10-jpeg", "CrisisIBD": "standin-crisis"},
        clients={"MNIST": 50, "CIFAR-10": 50, "CrisisIBD": 49},
        images={"MNIST": 30, "CIFAR-10": 40, "CrisisIBD": 30},
        cohort=10,
        rounds=15,
        episodes=40,
        evaluations=5,
        model="cnn-small",
        local=Local(0.1, 0.0, 10),
        search=_search({0.0: (0.01, 0.03, 0.1, 0.3, 1.0), 0.9: (0.003, 0.01, 0.03, 0.1)}, (10, 32)),
        test_per_class=200,
        server_share=0.5,
    ),
    "extended": Scale(
        datasets={"MNIST": "mnist", "CIFAR-10": "cifar10-jpeg"},
        clients={"MNIST": 100, "CIFAR-10": 100},
        images={"MNIST": 600, "CIFAR-10": 500},
        cohort=10,
        rounds=15,
        episodes=40,
        evaluations=1,
        model={"MNIST": "lenet", "CIFAR-10": "cnn-small"},
        local=Local(0.01, 0.9, 32),
    ),
    "paper": Scale(
        datasets={"MNIST": "mnist", "CIFAR-10": "cifar10", "CrisisIBD": "crisis-ibd"},
        clients={"MNIST": 100, "CIFAR-10": 100, "CrisisIBD": 98},
        images={"MNIST": 600, "CIFAR-10": 500, "CrisisIBD": None},
        cohort=10,
        rounds=15,
        episodes=40,
        evaluations=1,
        model="mobilenetv2",
        local=Local(0.01, 0.9, 32, 96),
        search=_search({0.0: (0.01, 0.03, 0.1, 0.3), 0.9: (0.001, 0.003, 0.01, 0.03)}, (10, 32), (None, 96)),
    ),
}
scale_of = by_profile(SCALES)


def base_run(profile: str, artifact: str, role: str, local: Local | None = None) -> Run:
    """FedAvg on the data set of a role (MNIST, CIFAR-10, CrisisIBD), one evaluation episode."""
    scale = scale_of(profile)
    local = local or scale.local
    images = scale.images[role]
    tests = {} if scale.test_per_class is None else {"test_per_class": scale.test_per_class}
    return Run(
        paper="fedddrl", artifact=artifact, profile=profile, dataset=scale.datasets[role],
        dataset_options={**tests, "server_share": scale.server_share}, method="fedavg",
        episode_rounds=scale.rounds, device_costs=True, partition="majority",
        partition_options={"sigma": SIGMA} | ({} if images is None else {"images_per_client": images}),
        model=scale.model if isinstance(scale.model, str) else scale.model[role],
        model_options={} if local.resize is None else {"resize": local.resize},
        num_clients=scale.clients[role], cohort_size=scale.cohort, rounds=scale.rounds, local_epochs=EPOCHS,
        client_eval="none", batch_size=local.batch_size, local_learning_rate=local.rate,
        local_optimizer_options={"momentum": local.momentum} if local.momentum else {},
    )  # fmt: skip


def make_run(profile: str, artifact: str, role: str, setting: Setting) -> Run:
    """A setting on the data set of a role."""
    scale, run = scale_of(profile), base_run(profile, artifact, role)
    options = {**setting.options, "episodes": scale.episodes} if setting.learns else setting.options
    return replace(
        run, method=setting.method, method_options=dict(options),
        mixup_alpha=ALPHAS[role] if setting.mixup else None, rounds=scale.evaluations * scale.rounds,
    )  # fmt: skip


def roles(profile: str) -> tuple[str, ...]:
    """The paper's data sets that have one of ours at this profile."""
    return tuple(scale_of(profile).datasets)


def table4(profile: str, names: Iterable[str] = TABLE4, among: Iterable[str] | None = None) -> list[Run]:
    """Settings of table 4 on every data set; which most other artifacts show."""
    names = tuple(names)
    among = roles(profile) if among is None else among
    return [make_run(profile, "table4", role, TABLE4[name]) for role in among for name in names]


def one_role(profile: str, wanted: str) -> tuple[str]:
    """The role wanted, or at `smoke` the first one."""
    return (wanted if wanted in roles(profile) else roles(profile)[0],)


def few_clients(profile: str, names: Iterable[str], among: Iterable[str]) -> list[Run]:
    """FedAvg with half as many clients per round, 5 of 10."""
    half = scale_of(profile).cohort // 2
    return [
        replace(make_run(profile, "table5", role, TABLE4[name]), cohort_size=half)
        for role in among
        for name in names
    ]


def table5(profile: str) -> list[Run]:
    """FedAvg with and without Balanced-MixUp: C = 5, and table 4's runs with 10 clients a round."""
    names = ("fedavg", "fedavg_mixup")
    return few_clients(profile, names, roles(profile)) + table4(profile, names)


def fig2(profile: str) -> list[Run]:
    """FedAvg on CIFAR-10, 5 and 10 clients a round; all of its runs are table 5's."""
    role = one_role(profile, "CIFAR-10")
    return few_clients(profile, ("fedavg",), role) + table4(profile, ("fedavg",), role)


def eq13_14(profile: str) -> list[Run]:
    """Setting B on MNIST, whose reward is (12), and the same with the bias b."""
    role = one_role(profile, "MNIST")
    return [*table4(profile, ("fedmarl_b",), role), make_run(profile, "eq13-14", role[0], FEDMARL_BIAS)]


def control_runs(
    profile: str, among: Iterable[str] | None = None, names: Iterable[str] = CONTROLS
) -> list[Run]:
    """The rules of one line, on every data set, with Balanced-MixUp like the methods of figures 8, 9."""
    among, names = roles(profile) if among is None else among, tuple(names)
    return [make_run(profile, "controls", role, CONTROLS[name]) for role in among for name in names]


def controls(profile: str) -> list[Run]:
    """The rules beside what they are measured against."""
    return table4(profile, FIG8) + control_runs(profile)


def returns(profile: str) -> list[Run]:
    """All of table 4 and the rules of one line."""
    return table4(profile) + control_runs(profile)


def one_episode(profile: str) -> list[Run]:
    """FedDdrl and FedAvg, both with Balanced-MixUp, on CIFAR-10."""
    return table4(profile, ("fedavg_mixup", "fedddrl"), one_role(profile, "CIFAR-10"))


def sgd_search(profile: str) -> list[Run]:
    """FedAvg, one episode, under every local setting, on the data sets whose images are real.

    Without and with Balanced-MixUp, whose soft labels do not bear every step that hard ones do. The
    setting in use is not computed again: its runs are table 4's.
    """
    scale = scale_of(profile)
    others = [local for local in scale.search if local != scale.local]
    among = [role for role in roles(profile) if role != "CrisisIBD"]
    names = ("fedavg", "fedavg_mixup")
    runs = table4(profile, names, among)
    for role in among:
        for local in others:
            run = base_run(profile, "sgd-search", role, local)
            runs += [run, replace(run, mixup_alpha=ALPHAS[role])]
    return runs


def name_of(method: str, options: Mapping[str, Any], *, mixup: bool) -> str:
    """The name in `SETTINGS` of a method with these options, with Balanced-MixUp or not; "" if none fits.

    An agent's further options follow after a colon, as in `fedddrl: random`.
    """
    name, more = _setting_of(method, options, mixup=mixup), ("deployed", "latency_unit", "reward_order")
    told = [str(options[key]) for key in more if options.get(key) not in (None, "agent", "largest", "own")]
    told += ["untrained"] * (options.get("episodes") == 0)
    return ": ".join([name, *told])


def _setting_of(method: str, options: Mapping[str, Any], *, mixup: bool) -> str:
    for name, setting in SETTINGS.items():
        same = all(options.get(key) == value for key, value in setting.options.items())
        mixed = mixup == setting.mixup
        biased = ("bias" in options) == ("bias" in setting.options)
        if setting.method == method and same and mixed and biased:
            return name
    return ""
