"""Answers of 03_fedddrl's sections 2, 6 and 8 to 10 in sentences computed from rows.

Each function takes `session.rows_of` or the like. It returns a few points, none without rows.
"""

from typing import Any

import pandas as pd

from fedlib.analysis.claims import effects_of
from fedlib.analysis.intervals import Interval, barely_decided, by_sign, effect_words, mean_interval
from fedlib.analysis.numbers import RowsOf
from fedlib.analysis.published import printed_value
from fedlib.analysis.tables import listed, side_words, span_words
from fedlib.papers.fedddrl import estimands, quantities, runs
from fedlib.papers.fedddrl.claims import LATENCIES, UPLOADED
from fedlib.papers.fedddrl.supplements import BIAS_ALONE, SECOND_AGENT
from fedlib.words import counted

ABLATION = ("fedmarl_a", "fedmarl_b", "fedmarl", "fedddrl")  # A to D
STEPS = tuple(zip(ABLATION[1:], ABLATION[:-1], strict=True))


def how_far_from_uniform(rows_of: RowsOf) -> list[str]:
    """Answer sec. 5.5: the labels' distance without mixing, and with either kind of pairs; or none."""
    rows = rows_of("fedddrl/sec5.5-emd")
    if rows.empty:
        return []
    plain, strict, galdran = (rows[rows.mixup == kind].iloc[0] for kind in ("none", "strict", "galdran"))
    return [
        f"Without mixing the labels of a client lie {plain.emd:.2f} from uniform, with `strict` pairs "
        f"{strict.emd:.2f} and with `galdran` pairs {galdran.emd:.2f}. Labels really drawn lie as far: "
        f"{plain.emd_drawn:.2f}, {strict.emd_drawn:.2f} and {galdran.emd_drawn:.2f}. A client of one label "
        f"alone is {2 * (1 - 1 / 10):.1f} from uniform, the furthest."
    ]


def whom_it_keeps(rows_of: RowsOf) -> list[str]:
    """Answer figs. 10 and 11: how many clients our agents keep and when, and which ones they drop."""
    rows = rows_of("fedddrl/fig10")
    return [*_how_many(rows), *_whom(rows)] if len(rows) else []


def _how_many(rows: pd.DataFrame) -> list[str]:
    """Clients kept in rounds 1 and 2, and the change later, beside the paper's run: two sentences or none."""
    kept, change = quantities.kept_by_round(rows), _by_role(estimands.later_than_first(rows))
    if not change:
        return []
    first = kept[kept.t <= estimands.FIRST_ROUNDS].groupby("role").uploads.mean()
    shown = quantities.shown_roles(rows)
    told = listed([f"{first[role]:.1f} on {shown[role]}" for role in change])
    printed = printed_value("fedddrl_text", metric="clients_completing_t1_t2")
    return [
        f"In rounds 1 and 2 our agents keep {told}, of {rows.cohort_size.max():.0f} clients. The paper's "
        f"run keeps {printed:g}.",
        f"The change from round {estimands.FIRST_ROUNDS + 1} on: {_sides(change, shown, 'more', 'fewer')}. "
        f"The paper's run keeps {estimands.printed_later():.1f} more.",
    ]


def _whom(rows: pd.DataFrame) -> list[str]:
    """Probing latency, and loss, of dropped clients over those of kept ones: two points or none."""
    seconds, loss = (
        _by_role(estimands.dropped_over_kept(column)(rows)) for column in ("probing_seconds", "probing_loss")
    )
    if not seconds or not loss:
        return []
    shown = quantities.shown_roles(rows)
    return [
        "The probing latency of dropped clients over that of clients kept in the same round is "
        f"{_sides(seconds, shown, 'longer', 'shorter', ratios=True)}. In the paper it is longer.",
        f"Their loss over that of kept clients is {_sides(loss, shown, 'higher', 'lower', ratios=True)}. In "
        "the paper it is higher.",
    ]


def who_trains_longer(rows_of: RowsOf) -> list[str]:
    """Answer figs. 12 and 13: epochs of the fastest kept clients against those of the slowest."""
    rows = rows_of("fedddrl/fig12")
    if rows.empty or not (found := _by_role(estimands.epochs_of_fast(rows))):
        return []
    return [
        "Training of the fastest kept clients against the slowest: "
        f"{_sides(found, quantities.shown_roles(rows), 'longer', 'shorter', unit='epochs')}. "
        f"{_epochs_of_mean(rows)}In the paper they train longer, with exceptions."
    ]


def _epochs_of_mean(rows: pd.DataFrame) -> str:
    """Sentence on the mean of the real data sets, by which C9 is decided; empty for one set."""
    rows, data = quantities.real_images(rows)
    table = estimands.epochs_of_fast(rows).dropna()
    if table.shape[1] < 2 or table.empty:
        return ""
    mean = {f"the mean of {data}": mean_interval(table.mean(axis=1).to_numpy())}
    told = side_words(mean, "longer", "shorter", "epochs")
    alike = f", over the {counted(len(table), 'seed')} in which both have such clients"
    return f"Together, as C9 is decided: {told}{alike * (len(table) < rows.seed.nunique())}. "


def which_step_helps(rows_of: RowsOf) -> list[str]:
    """Answer table 4's ablation: per data set on the order of A to D and on each step; then the mean's."""
    rows = rows_of("fedddrl/table4")
    if rows.empty:
        return []
    accuracy, shown = quantities.final_accuracy(rows), quantities.shown_roles(rows)
    told = [_ablation(accuracy, role, shown[role]) for role in runs.ALPHAS if role in shown]
    return [sentence for sentence in (*told, _ablation_of_mean(rows)) if sentence]


def _ablation_of_mean(rows: pd.DataFrame) -> str:
    """Which steps of A to D the mean of the real data sets decides, as the claims do; none for one set."""
    rows, data = quantities.real_images(rows)
    accuracy = quantities.final_accuracy(rows)
    roles = [role for role in runs.ALPHAS if role in set(accuracy.index.get_level_values("role"))]
    steps = {}
    for own, other in STEPS:
        gains = {
            role: quantities.cell(accuracy, role, own) - quantities.cell(accuracy, role, other)
            for role in roles
        }
        mean = pd.DataFrame(gains).dropna().mean(axis=1)
        if len(mean):
            steps[f"{estimands.SHORT[own]} − {estimands.SHORT[other]}"] = mean_interval(mean.to_numpy())
    if len(roles) < 2 or len(steps) < len(STEPS):
        return ""
    return f"On the mean of {data}, by which C3 and C15 are decided: {_steps(steps)}."


def _ablation(accuracy: pd.Series, role: str, name: str) -> str:
    """Highest and lowest mean accuracy of A to D on a data set, and which steps are decided."""
    cells = {variant: quantities.cell(accuracy, role, variant) for variant in ABLATION}
    means = pd.Series({variant: values.mean() for variant, values in cells.items() if len(values)})
    gains = {pair: (cells[pair[0]] - cells[pair[1]]).dropna() for pair in STEPS}
    if len(means) < len(ABLATION) or any(gain.empty for gain in gains.values()):
        return ""
    ends = [(estimands.SHORT[of], f"{means[of]:.1f} %") for of in (means.idxmax(), means.idxmin())]
    (best, most), (last, least) = ends
    steps = {
        f"{estimands.SHORT[own]} − {estimands.SHORT[other]}": mean_interval(gain.to_numpy())
        for (own, other), gain in gains.items()
    }
    printed = estimands.accuracies("table4")[role]
    paper = pd.Series({variant: printed[runs.TABLE4[variant].label] for variant in ABLATION})
    high, low = (estimands.SHORT[of] for of in (paper.idxmax(), paper.idxmin()))
    return (
        f"On {name} {best} has the highest mean accuracy of A to D, {most}, and {last} the lowest, {least} "
        f"(printed: {high} and {low}). {_steps(steps)}."
    )


def _steps(steps: dict[str, Interval]) -> str:
    """`B − A raises it (...); no other step is decided`, or the largest step where none is."""
    verbs = {"above": "raises it", "below": "lowers it", "undecided": ""}
    told = {name: by_sign(gain, **verbs) for name, gain in steps.items()}
    decided = [
        f"{name} {verb}{' barely' * barely_decided(steps[name])} ({effect_words(steps[name], 'points')})"
        for name, verb in told.items()
        if verb
    ]
    if not decided:
        largest = max(steps, key=lambda name: abs(steps[name].mean))
        return f"No step is decided, the largest is {largest}: {effect_words(steps[largest], 'points')}"
    return "; ".join(decided) + "; no other step is decided" * (len(decided) < len(steps))


def what_it_costs(rows_of: RowsOf) -> list[str]:
    """Answer figs. 8 and 9: whether latency and uploads order FedDdrl, FedMarl and FedAvg as printed.

    On real images, by the parts of C5 and C6.
    """
    told = []
    for artifact, parts in (("fedddrl/fig8", LATENCIES[::-1]), ("fedddrl/fig9", UPLOADED)):
        rows, data = quantities.real_images(rows_of(artifact)) if len(rows_of(artifact)) else ((), "")
        effects = effects_of(parts, rows) if len(rows) else ()
        if effects and all(effect.interval.n for effect in effects):
            both = [
                _saving(words, one.interval) for words, one in zip(SAVINGS[artifact], effects, strict=True)
            ]
            told.append(f"In % of FedAvg's, on {data}: {'; '.join(both)}.")
    return told


SAVINGS = {  # of the parts of C5, from FedAvg to FedDdrl, and of C6
    "fedddrl/fig8": ("FedMarl saves {} of the latency", "FedDdrl {} more"),
    "fedddrl/fig9": ("both save {} of the uploads", "on CIFAR-10 FedDdrl {} more than FedMarl"),
}


def _saving(words: str, saved: Interval) -> str:
    side = by_sign(saved, above="", below=", so less", undecided=": undecided")
    return f"{words.format(effect_words(saved, '%'))}{side}"


def what_leads_from_c_to_d(rows_of: RowsOf) -> list[str]:
    """Answer how much of D less C is the bias b, and how much the second agent: a sentence, or none."""
    rows = rows_of("fedddrl/bias-alone")
    if rows.empty:
        return []
    shown, told = quantities.shown_roles(rows), []
    for effect in effects_of((BIAS_ALONE, SECOND_AGENT), rows):
        found = {shown[cell.removesuffix(f": {effect.what}")]: one for cell, one in effect.cells.items()}
        found |= {"their mean": effect.interval} if len(found) > 1 else {}
        words = effect.what.replace(" - ", " less ")
        told += [f"{words} is {side_words(found, 'higher', 'lower', 'points')}"] if found else []
    both = "FedDdrl has the bias b as well as a second agent."
    return [f"{both} In accuracy {'; '.join(told)}."] if told else []


def _sides(found: dict[str, Interval], shown: dict[str, str], above: str, below: str, **words: Any) -> str:
    """`side_words` of the paper's data sets, as they are shown."""
    return side_words({shown[role]: interval for role, interval in found.items()}, above, below, **words)


def _by_role(table: pd.DataFrame) -> dict[str, Interval]:
    """Interval over seeds of each data set's column, in the paper's order; none without a number."""
    found = {role: table[role].dropna() for role in runs.ALPHAS if role in table}
    return {role: mean_interval(values.to_numpy()) for role, values in found.items() if len(values)}


def what_clients_and_mixup_do(rows_of: RowsOf) -> list[str]:
    """Answer table 5 and fig. 2: what Balanced-MixUp and twice the clients a round change for FedAvg."""
    rows = rows_of("fedddrl/table5")
    if rows.empty:
        return []
    sizes = sorted(rows.cohort_size.unique())
    mixed = {
        f"{role} with {size:.0f}": gain
        for size in sizes
        for role, gain in _by_role(_mixup_gain(rows, size)).items()
    }
    more = _by_role(estimands.by_cohort_size(quantities.final_accuracy)(rows))
    told = []
    if mixed:
        sides = side_words(mixed, "higher", "lower", "points")
        told.append(f"FedAvg's accuracy with Balanced-MixUp less without, by clients a round: {sides}.")
    if more:
        sides = side_words(more, "higher", "lower", "points")
        more_clients = f"With {sizes[-1]:.0f} clients a round in place of {sizes[0]:.0f}"
        told.append(f"{more_clients} FedAvg's accuracy is {sides}.")
    return told


def which_lambda(rows_of: RowsOf) -> list[str]:
    """Answer A31: FedAvg's accuracy with a lambda for each pair less one for each batch; or none."""
    rows = rows_of("fedddrl/mixup-lambda")
    if "mixup_lambda" not in rows:
        return []
    mixed = quantities.labelled(rows).query("variant == 'fedavg_mixup'")
    shown, pair = quantities.shown_roles(rows), mixed.mixup_lambda.fillna("batch") == "pair"
    gaps = quantities.final_accuracy(mixed[pair]) - quantities.final_accuracy(mixed[~pair])
    found = _by_role(gaps.groupby(["seed", "role"]).mean().unstack("role"))
    if not found:
        return []
    seeds = span_words([one.n for one in found.values()])
    return [
        "One lambda for each pair in place of one for each mini-batch: FedAvg's accuracy is "
        f"{_sides(found, shown, 'higher', 'lower', unit='points')} ({seeds} seeds)."
    ]


def _mixup_gain(rows: pd.DataFrame, size: float) -> pd.DataFrame:
    """FedAvg's accuracy with Balanced-MixUp less without it at a number of clients, by seed and data set."""
    pair = estimands.against("fedavg_mixup", "fedavg")
    found = estimands.contrasts(pair, cohort_sizes=(size,))(rows)
    return found.rename(columns=lambda name: name.partition(":")[0])
