"""FedDRL's claims FEDDRL-C1 to C17, each decided from rows with the interval that decided it.

Those about best accuracies are in `feddrl_accuracy_claims`; here are those about losses, impact
factors, rounds and times.
"""

import json
import math
from typing import TYPE_CHECKING, Any

from fedlib.papers import NOT_TESTABLE, Claim, Verdict, decide
from fedlib.papers import feddrl_accuracy_claims as accuracy
from fedlib.papers import feddrl_analysis as analysis
from fedlib.papers import feddrl_authors as authors
from fedlib.papers.decide import all_of, words
from fedlib.papers.feddrl_accuracy_claims import TABLE_3, TABLE_4, UNFINISHED, enough_seeds, too_few
from fedlib.papers.feddrl_errata import from_text

if TYPE_CHECKING:
    import pandas as pd

    from fedlib.intervals import Interval

FEW_MS = 5.0  # ms: what C16 takes for "a few"
LIKE = 2.0  # times within which C16 takes the decision's times for equal
MUCH_LARGER = 5.0  # times that stand for C16's "about 15 x": a third of it, on other hardware
NETWORKS = ("vgg11", "cnn-feddrl")  # the paper's; our MLP is not among those that it compares
EARLY = 0.25  # share of the rounds that is the "initial phase": 200 to 300 of 1000


def losses_fall_below(rows: "pd.DataFrame") -> Verdict:
    """C9: log ratio of the baselines' client losses to FedDRL's, after and in the initial phase.

    The two-stage mode decides, as it is the paper's; the online mode is told beside it (FEDDRL-A23).
    """
    named = analysis.named(rows)
    if not enough_seeds(named):
        return too_few(named)
    complete = [part for _, part in analysis.cells(named, needs=analysis.THREE)]
    if len(complete) < 3:  # PA, CE and CN
        return UNFINISHED
    verdict = _losses_against(complete, "feddrl")
    told = f"two-stage: {verdict.evidence}"
    if all((part.variant == "feddrl_online").any() for part in complete):
        online = _losses_against(complete, "feddrl_online")
        told += f"; online, deciding nothing ({online.verdict}): {online.evidence}"
    rising = sum(not accuracy.has_converged(part) for part in complete)
    if rising:
        return Verdict(NOT_TESTABLE, f"still rising at the end in {rising} of {len(complete)} cells: {told}")
    return Verdict(verdict.verdict, told)


def _losses_against(cells: "list[pd.DataFrame]", mode: str) -> Verdict:
    """C9 for one mode of FedDRL over these cells."""
    import pandas as pd

    late, early = {}, {}
    for value in ("client_loss_mean", "client_loss_variance"):
        logs = []
        for part in cells:
            ratios = analysis.loss_ratios(part, value, window=1, over=mode)
            logs.append(ratios[ratios.variant.isin(analysis.BASELINES)].assign(total=part["round"].max()))
        logs = pd.concat(logs)
        logs = logs.assign(log=logs.ratio.map(math.log), late=logs["round"] > EARLY * logs.total)
        means = logs.groupby(["late", "seed"]).log.mean()
        late[value], early[value] = means[True], means[False]
    parts = []
    for value, name in (("client_loss_mean", "mean"), ("client_loss_variance", "variance")):
        after, before = (decide.paired(x[value], 0 * x[value]) for x in (late, early))
        parts.append(decide.by_sign(after, f"log of the {name}, baseline / FedDRL, later {words(after, '')}"))
        parts.append(decide.by_sign(_negative(before), f"at first {words(before, '')}"))
    return all_of(parts)


def _negative(interval: "Interval") -> "Interval":
    return type(interval)(-interval.mean, -interval.high, -interval.low, interval.n)


def main_group_counts_less(rows: "pd.DataFrame") -> Verdict:
    """C10: mean factor of the small groups' clients less that of the main group's, later rounds."""
    named, parts = analysis.named(rows), {}
    complete = list(analysis.cells(named, needs=("feddrl", "untrained")))
    if not complete:
        return UNFINISHED
    for variant in ("feddrl", "untrained"):
        pairs = []
        for _, part in complete:
            factors = analysis.group_factors(part[part.variant == variant])
            later = factors[factors["round"] > EARLY * factors["round"].max()].groupby("seed")
            pairs.append((100 * later.others.mean(), 100 * later.main.mean()))
        parts[variant] = decide.pooled(pairs)
    shown = [f"{name} {words(interval, '% of the weight')}" for name, interval in parts.items()]
    return decide.by_sign(parts["feddrl"], "factor of small groups - of the main group: " + "; ".join(shown))


def no_slower(rows: "pd.DataFrame") -> Verdict:
    """C15: rounds of the faster baseline less FedDRL's, to what all three reach; with stage 1 counted too."""
    import pandas as pd

    if not enough_seeds(rows):
        return too_few(rows)
    named, saved, with_stage_1 = analysis.named(rows), {}, {}
    for cell, part in analysis.cells(named, needs=analysis.THREE):
        target = analysis.target_accuracy(part)
        of = {name: analysis.rounds_to(part, name, target) for name in analysis.THREE}
        fastest = pd.concat([of[name] for name in analysis.BASELINES], axis=1).min(axis=1)
        feddrl = part[part.variant == "feddrl"].iloc[0]
        before = json.loads(feddrl.method_options).get("worker_rounds", feddrl.rounds)
        saved[analysis.cell_name(cell)] = decide.paired(fastest, of["feddrl"])
        with_stage_1[analysis.cell_name(cell)] = decide.paired(fastest, of["feddrl"] + before)
    counted = sum(interval.mean >= 0 for interval in with_stage_1.values())
    what = "rounds of the faster baseline - FedDRL's"
    verdict = accuracy.in_real_cells(saved, named, what, "rounds", TABLE_3)
    extra = (
        f"; with the worker rounds of stage 1 counted FedDRL is no slower in {counted} of "
        f"{len(with_stage_1)} (A24)"
    )
    return Verdict(verdict.verdict, verdict.evidence + extra + _printed_rounds_words(rows))


def _printed_rounds_words(rows: "pd.DataFrame") -> str:
    """The only rounds that the paper prints, beside ours in that cell."""
    from fedlib.papers.feddrl_tables import printed_rounds

    found = printed_rounds(rows)
    if found.empty:
        return ""
    each = [f"{row.quantity} {row.published:g} (ours {row.ours:.2f})" for row in found.itertuples()]
    return f"; printed for CIFAR-100/CE/N=10 only: {', '.join(each)}"


def agent_is_cheap(rows: "pd.DataFrame") -> Verdict:
    """C16: decision time of the agent, and averaging times of VGG-11 and the CNN, on this machine."""
    agent = rows[rows.what == "decision"].sort_values("median_ms")
    networks = agent[(agent.cohort_size == 10) & agent.model.isin(NETWORKS)]
    pairs = networks.groupby(["model", "data"]).tail(1)  # on the slower device where there are two
    averaging = rows[(rows.what == "averaging") & (rows.timed_on == "cpu")].groupby("model").median_ms.mean()
    slowest = agent.iloc[-1]
    spread = pairs.median_ms.max() / pairs.median_ms.min()
    ratio = averaging["vgg11"] / averaging["cnn-feddrl"]
    each = ", ".join(f"{row.model}/{row.data} {_median_words(row)}" for row in pairs.itertuples())
    evidence = (
        f"decision (threshold {FEW_MS:g} ms) at most {_median_words(slowest)} with {slowest.model}, "
        f"K = {slowest.cohort_size}, of K up to {agent.cohort_size.max()}; {spread:.2f} times (threshold "
        f"{LIKE:g}) from the fastest to the slowest of the paper's networks and data: {each}; averaging "
        f"VGG-11 / CNN {ratio:.1f} (printed {_printed_ratio():g}, threshold {MUCH_LARGER:g})"
        f"{_learning_words(rows)}"
    )
    if len(pairs) < 2:
        return Verdict(NOT_TESTABLE, evidence)
    flags = [slowest.median_ms < FEW_MS, spread < LIKE, ratio > MUCH_LARGER]
    return decide.by_count([bool(flag) for flag in flags], evidence)


def _median_words(row: Any) -> str:
    return f"{row.median_ms:.2f} ms [deciles {row.p10_ms:.2f}, {row.p90_ms:.2f}]"


def _printed_ratio() -> float:
    vgg, cnn = (from_text("aggregation_time", dataset=d) for d in ("CIFAR-100", "MNIST,Fashion-MNIST"))
    return vgg / cnn


def _learning_words(rows: "pd.DataFrame") -> str:
    """What Algorithm 1 adds, which the claim leaves out: it grows with the experiences in D (A19)."""
    from fedlib.papers.feddrl_tables import agent_share
    from fedlib.papers.feddrl_timing import whole_run

    learning = rows[rows.what.str.startswith("learning")]
    if learning.empty:
        return ""
    alone = ", ".join(
        f"{row.median_ms:.0f} ms with {_experiences(row.what[10:])}" for row in learning.itertuples()
    )
    shares = agent_share(rows[rows.timed_on == "cpu"])
    columns = [name for name in shares if name.endswith("in D_%")]
    added = [
        f"{row['model']}, {row['threads']} thread(s): {row['decision_%']:.1f} % by the decision, "
        "with learning " + ", ".join(f"{row[name]:.1f} % with {_experiences(name[:-2])}" for name in columns)
        for _, row in shares.iterrows()
    ]
    epochs = whole_run("paper", "mlp").local_epochs
    return f"; not counted, Algorithm 1: {alone}; longer rounds at E = {epochs}: {'; '.join(added)}"


def _experiences(length: str) -> str:
    """`40 in D`, as the rows have it, for a reader."""
    return length.replace("in D", "experiences")


def two_stages_help(rows: "pd.DataFrame") -> Verdict:
    """C17: best accuracy of the two-stage mode less that of the online mode; rewards as evidence."""
    named = analysis.named(rows)
    if not {"feddrl", "feddrl_online"} <= set(named.variant):
        return UNFINISHED
    accuracy = decide.paired(analysis.best(named, "feddrl"), analysis.best(named, "feddrl_online"))
    reward = decide.paired(analysis.rewards(named, "feddrl"), analysis.rewards(named, "feddrl_online"))
    return decide.by_sign(accuracy, f"two_stage - online: {words(accuracy)}; reward {words(reward, 'nats')}")


CLAIMS = (
    Claim(
        "FEDDRL-C1",
        "FedDRL's best accuracy is at least that of FedAvg and FedProx in all 18 cells",
        "feddrl/table3",
        accuracy.leads_in(TABLE_3),
        beside="feddrl/authors_partitions",
        tell=authors.leads_there,
    ),
    Claim(
        "FEDDRL-C2",
        "CIFAR-100, N = 10: mean gain 2.17 % over the best and 4.05 % over the worst baseline",
        "feddrl/table3",
        accuracy.needs_real_data(accuracy.gains_as_printed(10)),
    ),
    Claim(
        "FEDDRL-C3",
        "CIFAR-100, N = 100: mean gain 0.7 % over the best and 6.67 % over the worst baseline",
        "feddrl/table3",
        accuracy.needs_real_data(accuracy.gains_as_printed(100)),
    ),
    Claim(
        "FEDDRL-C4",
        "the largest gain is 10.03 % (CIFAR-100, CE, N = 100)",
        "feddrl/table3",
        accuracy.needs_real_data(accuracy.largest_gain),
    ),
    Claim(
        "FEDDRL-C5",
        "the gain is larger for N = 100 than for N = 10",
        "feddrl/table3",
        accuracy.on_real_data(accuracy.grows_with_clients),
    ),
    Claim(
        "FEDDRL-C6",
        "on MNIST and Fashion-MNIST the three methods are within about 1 %",
        "feddrl/table3",
        accuracy.within_one_percent,
    ),
    Claim(
        "FEDDRL-C7",
        "cluster skew lowers FedAvg and FedProx clearly below PA and SingleSet",
        "feddrl/table3",
        accuracy.on_real_data(accuracy.cluster_skew_costs),
    ),
    Claim(
        "FEDDRL-C8",
        "SingleSet is an upper bound in every cell",
        "feddrl/upper_bound",
        accuracy.single_set_bounds,
    ),
    Claim(
        "FEDDRL-C9",
        "mean and variance of the clients' losses are lower with FedDRL after an initial phase, higher in it",
        "feddrl/fig6",
        accuracy.needs_real_data(losses_fall_below),
    ),
    Claim(
        "FEDDRL-C10",
        "clients of the main group receive smaller impact factors than those of small groups",
        "feddrl/impact_factors",
        accuracy.on_real_data(lambda rows, _: main_group_counts_less(rows)),
    ),
    Claim(
        "FEDDRL-C11",
        "K from 10 to 50 changes the speed, not the accuracy reached, and FedDRL stays ahead",
        "feddrl/fig7",
        accuracy.needs_real_data(accuracy.speed_not_accuracy),
    ),
    Claim(
        "FEDDRL-C12",
        "the accuracy of all methods falls as delta rises from 0.2 to 0.6",
        "feddrl/fig8",
        accuracy.falls_with_delta,
    ),
    Claim(
        "FEDDRL-C13",
        "at delta = 0.6 FedDRL leads by 2 to 3 %",
        "feddrl/fig8",
        accuracy.leads_at_full_delta,
        beside="feddrl/authors_partitions",
        tell=authors.gain_there,
    ),
    Claim(
        "FEDDRL-C14",
        "FedDRL is best in the four cells of table 4",
        "feddrl/table4",
        accuracy.leads_in(TABLE_4),
    ),
    Claim(
        "FEDDRL-C15",
        "FedDRL needs no more rounds to the target than the faster baseline, in every cell",
        "feddrl/fig10",
        no_slower,
    ),
    Claim(
        "FEDDRL-C16",
        "the agent takes a few ms whatever the model; averaging grows with the model, VGG-11 about 15 x CNN",
        "feddrl/fig9",
        agent_is_cheap,
    ),
    Claim("FEDDRL-C17", "two-stage training helps", "feddrl/small_setting", two_stages_help),
)
