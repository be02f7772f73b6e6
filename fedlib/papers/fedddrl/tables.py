"""FedDdrl's tables from stored rows, published values beside ours.

"s.d." is the standard deviation over seeds, of the mean over evaluation episodes (FEDDDRL-A37).
"""

import json

import numpy as np
import pandas as pd

from fedlib.analysis.intervals import by_sign, decided_words, effect_words, mean_interval, number_words
from fedlib.analysis.memo import once_per_frame
from fedlib.analysis.published import load_published, printed_values
from fedlib.analysis.tables import compare, stand_ins, standing_words, summarise_seeds
from fedlib.papers.fedddrl import quantities, runs
from fedlib.papers.fedddrl.measurements import IN_TURNS
from fedlib.papers.fedddrl.returns import measured
from fedlib.words import counted

RANDOM, FASTEST = "random_drop", "drop_slowest"
NAMES = {"fedddrl": "FedDdrl", "fedmarl": "C (FedMarl with Balanced-MixUp)"}
UNTRAINED = "fedddrl: untrained"  # its agents before any training
LEARNED = ("fedmarl", "fedddrl", UNTRAINED)
COMPARED = {"return": "return", "accuracy": "accuracy", "latency": "latency %"}  # a difference: its column


def table4(rows: pd.DataFrame) -> pd.DataFrame:
    """Accuracy (%) of the eight settings on each data set: published, ours, difference; both s.d."""
    return _grouped(accuracies4(rows), ["dataset", "method"])


def ran_words(rows: pd.DataFrame) -> str:
    """Say that these runs ended, and between which accuracies; whether they show more than that."""
    last = quantities.final_accuracy(rows)
    told = f"ran; accuracies {last.min():.0f} to {last.max():.0f} %"
    seeds, rounds = counted(rows.seed.nunique(), "seed"), int(quantities.evaluations(rows).t.max())
    return f"Table 4 at this notebook's parameters: {told} ({seeds}, {counted(rounds, 'round')} an episode)"


def table5(rows: pd.DataFrame) -> pd.DataFrame:
    """`table4` of FedAvg with and without Balanced-MixUp, 5 or 10 clients a round, or the profile's own."""
    ours = _spread(quantities.final_accuracy(rows), ["role", "variant", "cohort_size"])
    few = ours.cohort_size.min()
    ours = ours.assign(
        method=ours.variant.map(lambda name: runs.TABLE4[name].label),
        note=np.where(ours.cohort_size == few, "C=5", "C=10"),
    )
    table = _beside(load_published("fedddrl_table5"), rows, ours, ["dataset", "method", "note"])
    clients, roles = table.note.str.removeprefix("C="), table.dataset.map(quantities.shown_roles(rows))
    table = table.assign(dataset=roles, **{"clients a round": clients})
    return _grouped(table, ["dataset", "method", "clients a round"])


def _grouped(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Table 4 or 5 as shown: published, ours with its interval and the difference under one header."""
    mean, spread = "accuracy (%): ", "s.d. over seeds: "
    names = {name: f"{mean}{name}" for name in ("published", "ours", "difference")}
    names |= {bound: f"{mean}ours {bound}" for bound in ("low", "high")}
    names |= {"published s.d.": f"{spread}published", "ours s.d.": f"{spread}ours"}
    order = ["published", "ours", "low", "high", "difference", "published s.d.", "ours s.d."]
    return table[[*keys, *order, "seeds"]].rename(columns=names)


def accuracies4(rows: pd.DataFrame) -> pd.DataFrame:
    """Table 4 in plain columns: published, ours with its interval, difference, both s.d., seeds."""
    ours = _spread(quantities.final_accuracy(rows), ["role", "variant"])
    labels = {name: setting.label for name, setting in runs.TABLE4.items()}
    ours = ours[ours.variant.isin(labels)].assign(method=lambda t: t.variant.map(labels))
    table = _beside(load_published("fedddrl_table4"), rows, ours, ["dataset", "method"])
    return table.assign(dataset=table.dataset.map(quantities.shown_roles(rows)))


def _spread(values: pd.Series, by: list[str]) -> pd.DataFrame:
    """Mean, standard deviation, 95 % interval and number of seeds by `by`."""
    long = values.rename("value").reset_index()
    summary = summarise_seeds(long, by, "value")
    spread = long.groupby(by, sort=False).value.std().rename("std").reset_index()
    return summary.merge(spread, on=by)


def _beside(published: pd.DataFrame, rows: pd.DataFrame, ours: pd.DataFrame, on: list[str]) -> pd.DataFrame:
    """Columns of `on`, published and its s.d., ours and its s.d., difference, 95 % interval, seeds.

    rows: what ours is of; generated images have no difference from what is printed.
    """
    generated = {runs.ROLE_OF.get(name) for name in stand_ins(rows)}
    wide = published.pivot(index=on, columns="metric", values="value").reset_index()
    order = published[published.metric == "accuracy_mean"][on]
    wide = order.merge(wide, on=on).astype({"accuracy_mean": float, "accuracy_std": float})
    ours = ours.rename(columns={"role": "dataset"}).assign(stand_in=ours.role.isin(generated))
    table = compare(wide, ours, on, value="accuracy_mean")
    table = table.merge(wide[[*on, "accuracy_std"]], on=on)
    names = {"accuracy_std": "published s.d.", "std": "ours s.d.", "n": "seeds"}
    columns = [*on, "published", "published s.d.", "ours", "low", "high", "ours s.d.", "difference", "seeds"]
    table = table.rename(columns=names)[columns].dropna(subset="ours")
    return quantities.in_papers_order(table, "dataset")


def costs(rows: pd.DataFrame) -> pd.DataFrame:
    """Accuracy, latency and uploads (percent of FedAvg's): means over `seeds` by data set and setting."""
    parts = {"accuracy (%)": quantities.final_accuracy(rows), **_costs(rows)}
    cells = pd.DataFrame(parts).groupby(["role", "variant"])
    joined = cells.mean().assign(seeds=cells.size()).reset_index()
    order = {name: place for place, name in enumerate(runs.SETTINGS)}
    joined = joined.sort_values("variant", key=lambda names: names.map(order), kind="stable")
    joined = quantities.in_papers_order(joined)
    joined.insert(1, "method", joined.variant.map(lambda name: runs.SETTINGS[name].label))
    joined = joined.assign(role=joined.role.map(quantities.shown_roles(rows)))
    return joined.drop(columns="variant").round({"accuracy (%)": 1})


def cost_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Figs 8, 9 in numbers, with the rules: latency and uploads in percent of FedAvg's, a line a policy."""
    return quantities.by_policy(pd.DataFrame(_costs(rows)).groupby(["role", "variant"]).mean(), rows)


def _costs(rows: pd.DataFrame) -> dict[str, pd.Series]:
    """Latency and uploads of an episode in percent of FedAvg's with Balanced-MixUp, by `CELL`."""
    names = {"latency_seconds": "latency (% of FedAvg's)", "uploads": "uploads (% of FedAvg's)"}
    return {words: quantities.normalised(rows, name) for name, words in names.items()}


@once_per_frame
def at_learned_rate(rows: pd.DataFrame, unit: str = "largest") -> pd.DataFrame:
    """Compare each learned policy with the two dropping rules at the same number of uploads.

    A rule was run at several shares; its return, accuracy and latency are interpolated between them at the
    rate that the policy of the same seed learned. FedAvg is the rule that keeps everyone. Columns: role,
    method, seed, kept, return, accuracy, latency %, and the differences to each rule. unit: of H in the
    return (FEDDDRL-A3).
    """
    found, lines = measured(rows, unit), []
    for one in found[found.variant.isin(LEARNED)].to_dict("records"):
        same = found[(found.role == one["role"]) & (found.seed == one["seed"])]
        rules = {rule: _interpolate(same, rule, one["kept"]) for rule in (RANDOM, FASTEST)}
        line = {"role": one["role"], "method": one["variant"], "seed": one["seed"], "kept": one["kept"]}
        for name, column in COMPARED.items():
            line[column] = one[column]
            line |= {f"{name} - {rule}": one[column] - values[column] for rule, values in rules.items()}
        lines.append(line)
    return pd.DataFrame(lines)


def _interpolate(found: pd.DataFrame, rule: str, kept: float) -> dict[str, float]:
    """Interpolate a rule's value at a number of kept clients; nan outside the range that was run."""
    own = found[found.variant.str.startswith(rule) | (found.variant == "fedavg_mixup")].sort_values("kept")
    if len(own) < 2:
        return dict.fromkeys(COMPARED.values(), np.nan)
    return {
        column: float(np.interp(kept, own.kept, own[column], left=np.nan)) for column in COMPARED.values()
    }


def gain_over_rules(rows: pd.DataFrame) -> pd.DataFrame:
    """`at_learned_rate` over seeds, a line per data set and policy: return (15), points, % of FedAvg.

    With 95 % intervals as sentences write them.
    """
    names = {"return": "return", "accuracy": "accuracy (points)", "latency": "latency (%)"}
    rules = {RANDOM: "less random dropping", FASTEST: "less keeping the fastest"}
    shown, lines, found = quantities.shown_roles(rows), [], at_learned_rate(rows)
    found = quantities.in_papers_order(found) if len(found) else found
    for (role, method), own in found.groupby(["role", "method"], sort=False) if len(found) else ():
        gains = {
            f"{group}: {words}": own[f"{name} - {rule}"].dropna().to_numpy()
            for rule, group in rules.items()
            for name, words in names.items()
        }
        line: dict[str, object] = {"role": shown[role], "method": method}
        line["seeds"] = max(map(len, gains.values()))
        for words, values in gains.items():
            line[words] = effect_words(mean_interval(values)) if len(values) else "–"
        lines += [line] * bool(line["seeds"])
    return pd.DataFrame(lines)


def gain_sentence(rows: pd.DataFrame, method: str = "fedddrl") -> str:
    """Sentences on what an agent adds to each dropping rule at as many uploads, on real images.

    Mean over the data sets of a seed. method: key of `NAMES`.
    """
    if rows.empty:
        return "No agents were trained."
    rows, data = quantities.real_images(rows)
    table = at_learned_rate(rows)
    own, name = table[table["method"] == method], NAMES[method]
    by_seed = own.groupby("seed")[[name for name in own if " - " in name]].mean()
    if own.empty or by_seed.isna().any(axis=None):
        return f"Not every rule was run at as many uploads as {name}'s agents take."
    told = [f"{name} is compared with rules at as many uploads ({data}, {len(by_seed)} seeds)."]
    for rule, words in ((RANDOM, "dropping at random"), (FASTEST, "keeping the fastest")):
        reward, points = f"return - {rule}", f"accuracy - {rule}"
        told += [
            f"Against {words} its return is {_standing(by_seed[reward])}.",
            f"Its accuracy is {_standing(by_seed[points], 'points')}{_by_role(own, points)}.",
        ]
    return " ".join(told)


def _standing(values: pd.Series, unit: str = "") -> str:
    """`ahead, +0.46 [+0.23, +0.69]`: the side of 0 of an interval, and the interval."""
    found = mean_interval(values.to_numpy())
    says = by_sign(found, above="ahead", below="behind", undecided="undecided")
    return f"{says}, {decided_words(found, unit)}"


def _by_role(own: pd.DataFrame, name: str) -> str:
    """`; by data set behind on MNIST, undecided on CIFAR-10`, of several data sets; empty for one."""
    found = {
        str(role): mean_interval(part[name].to_numpy()) for role, part in own.groupby("role", sort=False)
    }
    return f"; by data set {standing_words(found, 'on')}" * (len(found) > 1)


def local_search(rows: pd.DataFrame) -> pd.DataFrame:
    """The search for local SGD: FedAvg's accuracy under each setting, and how far it is from the printed one.

    Rule: the setting with the smallest mean absolute difference to the published accuracies of FedAvg
    without and with Balanced-MixUp (table 4; columns with a "+") over the data sets whose images are
    real; `in use` marks the one that the grids have, `smallest` the one that the rule takes. First
    evaluation episode of the seeds that every setting has, on the images that the server holds out, so
    that the reported test data choose nothing. A setting of which a run diverged, so that it lacks seeds
    that most settings have, has no numbers. `seeds`: of the data set with the fewest. The closest first.
    """
    settings = zip(rows.local_learning_rate, rows.batch_size, _options(rows), strict=True)
    labelled = quantities.labelled(rows).assign(local=[local_of(*setting) for setting in settings])
    labelled["cell"] = labelled.role + labelled.variant.map({"fedavg": "", "fedavg_mixup": " +"})
    ended = (labelled.episode == 1) & (labelled.t == labelled.t.max()) & (labelled.status == "ok")
    first = labelled[ended]
    counts = first.groupby(["local", "cell"]).seed.nunique().unstack("cell").fillna(0)
    whole = counts.index[(counts >= counts.median()).all(axis=1)]
    first = quantities.of_common_seeds(first[first.local.isin(whole)], "local")
    table = (100 * first.groupby(["local", "cell"]).server_accuracy.mean()).unstack("cell")
    table = table.reindex(sorted(set(labelled.local)))
    distance = (table - _printed_fedavg()[table.columns]).abs().mean(axis=1, skipna=False)
    table["mean distance"] = distance
    table["smallest"] = table["mean distance"] == table["mean distance"].min()
    local = runs.scale_of(rows.profile.iloc[0]).local
    table["in use"] = table.index == local_of(local.rate, local.batch_size, json.dumps(_extra(local)))
    seeds = first.groupby(["local", "cell"]).seed.nunique().groupby("local").min()
    table["seeds"] = seeds.reindex(table.index).fillna(counts.min(axis=1)).astype(int)
    table = table.sort_values("mean distance", kind="stable")
    return table.round(1).reset_index().rename_axis(columns=None)


def _printed_fedavg() -> pd.Series:
    """FedAvg's published accuracies in percent by data set, those with Balanced-MixUp with a "+"."""
    plain, mixed = (
        printed_values("fedddrl_table4", "dataset", metric="accuracy_mean", method=runs.TABLE4[name].label)
        for name in ("fedavg", "fedavg_mixup")
    )
    return pd.concat([plain, mixed.rename(index=lambda role: f"{role} +")])


def _options(rows: pd.DataFrame) -> list[str]:
    pairs = zip(rows.local_optimizer_options, rows.model_options, strict=True)
    return [json.dumps({**json.loads(a), **json.loads(b)}, sort_keys=True) for a, b in pairs]


def _extra(local: runs.Local) -> dict[str, float]:
    extra = {"momentum": local.momentum} if local.momentum else {}
    return extra | ({"resize": local.resize} if local.resize else {})


def local_of(rate: float, batch: int, options: str) -> str:
    """SGD's step, momentum, batch and image size in words; options: JSON text."""
    given = json.loads(options)
    size = f", {given['resize']} px" if "resize" in given else ""
    return f"lr {rate:g}, momentum {given.get('momentum', 0):g}, batch {batch}{size}"


def agents_cost(rows: pd.DataFrame) -> pd.DataFrame:
    """Section 5.4: products by the formula, seconds and bytes measured; one column for each network."""
    names = {
        "parameters": ("parameters", 1), "products_per_decision": ("products of one client's decision", 1),
        "products_of_training": ("products of training (millions)", 1e-6),
        "decision_seconds": ("decisions of ten clients (ms)", 1e3),
        "learning_step_seconds": ("a learning step (ms)", 1e3),
        "network_bytes": ("network, target and Adam's moments (kB)", 1e-3),
        "memory_bytes": ("replay memory (kB)", 1e-3),
    }  # fmt: skip
    table = rows[rows.parameters.notna()].set_index("part")
    lines = {words: (table[name] * scale).map(_three_digits) for name, (words, scale) in names.items()}
    return pd.DataFrame(lines).T.rename_axis(None, axis=1).rename_axis("quantity").reset_index()


def _three_digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else number_words(value)


def proximal_words(rows: pd.DataFrame) -> str:
    """Sentence on the time of FedProx's local step over FedAvg's; empty without that measurement."""
    factor = rows.get("factor", pd.Series(dtype=float)).dropna()
    if factor.empty:
        return ""
    return (
        f"A local step of FedProx takes {number_words(factor.iloc[0])} times as long as FedAvg's (median of "
        f"{IN_TURNS} measurements in turns)."
    )
