"""Tables of FedDRL's cells at the paper's length: levels, leads, and the factors of small groups' clients."""

import pandas as pd

from fedlib.analysis import contrasts
from fedlib.analysis.intervals import NO_INTERVAL, mean_interval
from fedlib.papers.feddrl import quantities
from fedlib.papers.feddrl.errata import accuracies
from fedlib.papers.feddrl.estimands import factor_gap, factor_gap_in_slot
from fedlib.papers.feddrl.tables import PRINTED, line_key, name_cell, over

DRAWN = ("drawn", "drawn_online")
DECIDING = ("feddrl", "feddrl_online", "untrained", "repaired", *DRAWN)  # policies that decide a factor


def length_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Table with a line per variant of one cell: accuracy (%) published, best and late (`late`)."""
    named, found = quantities.named(rows), []
    for cell, part in quantities.cells(named):
        published, late = accuracies().loc[line_key(name_cell(cell))], quantities.late_levels(part)
        feddrl, _ = quantities.of_feddrl(part)
        for variant in quantities.variant_order(part):
            best = quantities.best(part, variant)
            paper = PRINTED.get("feddrl" if variant == feddrl else variant)
            line = {"variant": variant, "published": published.get(paper)}
            line |= mean_interval(best.to_numpy()).columns("best", "")
            line["difference"] = best.mean() - line["published"] if paper else None
            line["late"] = late[variant].mean()
            line["late less published"] = line["late"] - line["published"] if paper else None
            found.append({**line, "seeds": len(best)})
    return pd.DataFrame(found)


def length_leads(rows: pd.DataFrame) -> pd.DataFrame:
    """Each variant of one cell less FedAvg, and FedDRL less each (points), in best and in late accuracy."""
    named, found = quantities.named(rows), []
    for _, part in quantities.cells(named, needs=("fedavg",)):
        late, (feddrl, _) = quantities.late_levels(part), quantities.of_feddrl(part)
        best = {name: quantities.best(part, name) for name in quantities.variant_order(part)}
        for variant in best:
            line: dict[str, object] = {"variant": variant}
            for group, own, other in (
                ("less FedAvg", variant, "fedavg"), ("FedDRL less it", feddrl, variant),
            ):  # fmt: skip
                for name, values in (("best", best), ("late", late)):
                    known = own != other and own in best
                    gap = contrasts.paired(values[own], values[other]) if known else NO_INTERVAL
                    line |= gap.columns(f"{group}: {name}")
            found.append(line)
    return pd.DataFrame(found)


def delta_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Best accuracy (%) at the least and the largest share of the main group, and what it falls between."""
    found, lines = over(rows, "delta"), []
    ends = found.delta.min(), found.delta.max()
    for (partition, variant), part in found.groupby(["partition", "variant"], sort=False):
        by_seed = {end: part[part.delta == end].set_index("seed").best for end in ends}
        line: dict[str, object] = {"partition": partition, "variant": variant}
        line |= {f"best accuracy (%): delta = {end:g}": best.mean() for end, best in by_seed.items()}
        lines.append(line | contrasts.paired(*(by_seed[end] for end in ends)).columns("fall (points)"))
    return pd.DataFrame(lines)


def length_factors(rows: pd.DataFrame) -> pd.DataFrame:
    """Factor of a client of a small group less one's of the main group, in % of a uniform factor.

    Of the policies that are trained or start the training; after a quarter of the rounds. Then the same
    among clients in the same slot, where slots are sorted by client number.
    """
    named, found = quantities.named(rows), []
    for variant in quantities.variant_order(named):
        if variant not in DECIDING:
            continue
        line: dict[str, object] = {"variant": variant}
        for words, gap in (("all clients", factor_gap), ("in the same slot", factor_gap_in_slot)):
            values = gap(named, variant).dropna()  # none where no slot had clients of both groups
            known = len(values) and (words == "all clients" or variant not in DRAWN)
            interval = mean_interval(values.to_numpy()) if known else NO_INTERVAL
            line |= interval.columns(f"small group less main group (%): {words}")
        found.append(line)
    return pd.DataFrame(found)
