"""Our claims about two cells of table 3 at the paper's length, registered before the results they need.

FEDDRL-R5 to R8: Fashion-MNIST, CE, N = 100, T = 1000, five seeds, with every printed setting of the agent and
as many updates as the paper's scheme makes. There its claims about this cell, and what its agent learns, can
be judged; the claims C1 to C15, which speak of more cells, cannot. (The first FedDRL runs had begun and none
had ended.) Late accuracy, told beside the verdicts of R5 to R7, is not part of what was registered.

FEDDRL-R9 to R11 were registered after the FedDRL runs with slots by client number had shown that the agent
prefers the last slots, whoever is in them, and before any run with slots in drawn order. There late accuracy,
the mean of the last 50 rounds, decides too.

FEDDRL-R12 to R18 ask the same of the cell under CN, registered when those of CE were decided and before any
FedDRL run of theirs. There both accuracies decide from the start.

FEDDRL-R19 and R20 ask of the repaired agent under CN and PA what R8 asks under CE, in both accuracies. They
were registered before any run of it there, with FedDRL's rows of both cells known. FEDDRL-R21 and R22 ask of
MNIST under CE what R5 and R6 ask of Fashion-MNIST, in both accuracies, registered before any run of theirs.
FEDDRL-R23 and R24 ask whether the lead of the repaired agent is learned, under CE and CN: against its own
untrained policy, in both accuracies, registered before that policy was run at this length. FEDDRL-R25 asks
on further seeds for the lead in the first rounds under CN that R19's and R24's rows had shown (3.3 and 3.6
points over the first hundred rounds, seeds 0 to 4), registered before any run of these seeds.

FEDDRL-R26 to R28 ask of the same cell with every printed setting, the paper's CNN and as many images as the
authors' files, what R5, R6 and R9 ask with an MLP, in both accuracies. FedDRL is there the online mode. They
were registered with FedAvg's, FedProx's and FedDRL's rows known of seed 0 (1000 rounds; leads of 0.3 points
in the best round and 0.7 in the last 50) and of seeds 1 and 2 (526 rounds), before any run of a control and
of seeds 3 and 4. All five seeds are run anew on one machine.
"""

from functools import partial

from fedlib.analysis.claims import Claim, Part, Supplement
from fedlib.analysis.gates import at_scale
from fedlib.analysis.supplements import supplement
from fedlib.papers.feddrl import estimands
from fedlib.papers.feddrl.estimands import AGENT_TRAINED, by_cell, flat, name_of
from fedlib.papers.feddrl.length_runs import EARLY_ROUNDS
from fedlib.papers.feddrl.quantities import BASELINES, THREE, highest_mean, over_rounds
from fedlib.papers.feddrl.runs import EXACT_CELL

ARTIFACT, PLACE = "feddrl/paper_length", "ours: Fashion-MNIST, CE, N = 100, T = 1000"
CN_ARTIFACT, CN_PLACE = "feddrl/paper_length_cn", "ours: Fashion-MNIST, CN, N = 100, T = 1000"
PA_ARTIFACT, PA_PLACE = "feddrl/paper_length_pa", "ours: Fashion-MNIST, PA, N = 100, T = 1000"
REPAIRED_IN = ((19, "CN", CN_PLACE, CN_ARTIFACT), (20, "PA", PA_PLACE, PA_ARTIFACT))
REPAIRED_TRAINED_IN = ((23, "CE", PLACE, ARTIFACT), (24, "CN", CN_PLACE, CN_ARTIFACT))
EXACT_ARTIFACT = f"feddrl/{EXACT_CELL}"
EXACT_PLACE = "ours: CE, Fashion-MNIST, N = 100, the paper's CNN, T = 1000, FedDRL online"
MNIST_ARTIFACT, MNIST_PLACE = "feddrl/paper_length_mnist", "ours: MNIST, CE, N = 100, T = 1000"


def _best_less(own: str, other: str, words: str) -> Part:
    """The best accuracy of one variant less that of another, where both were run."""
    return Part(words, by_cell(estimands.less(own, other), needs=(own, other)), cells=1)


def late_less(own: str, other: str, words: str) -> Part:
    """The mean accuracy of the last 50 rounds of one variant less that of another, where both were run."""
    measure = by_cell(estimands.less(own, other, estimands.late), needs=(own, other))
    return Part(f"{words}, mean of the last 50 rounds", measure, cells=1)


def _late_supplements(*others: str, own: str = "feddrl", name: str = "FedDRL") -> tuple[Supplement, ...]:
    """A variant less others in late accuracy: beside the verdict, not registered."""
    return (supplement(ARTIFACT, *(late_less(own, other, f"{name} - {other}") for other in others)),)


def _lead(partition: str, own: str = "feddrl") -> Part:
    """The best accuracy of FedDRL, or its mode, less that of the better baseline, beside table 3's."""

    def printed() -> float:
        return estimands.printed_lead()()[name_of(("Fashion-MNIST", partition, 100))]

    measure = by_cell(partial(estimands.lead, own=own), needs=(*BASELINES, own))
    name = "FedDRL, online, CNN" if own.endswith("online") else "FedDRL"
    return Part(f"{name} - best baseline", measure, printed=printed, cells=1)


def both(own: str, other: str, words: str) -> tuple[Part, Part]:
    """Parts of one variant less another: best accuracy, and the mean of the last 50 rounds."""
    return _best_less(own, other, words), late_less(own, other, words)


def highest_means(*pairs: tuple[str, str, str]) -> tuple[Part, ...]:
    """Parts of one variant less another, highest mean of 50 rounds in a row: own, other, words of each.

    The best of many rounds gains by the noise of single ones.
    """
    return tuple(
        Part(
            f"{words}, highest mean of 50 rounds in a row",
            by_cell(estimands.less(own, other, highest_mean), needs=(own, other)), cells=1,
        )
        for own, other, words in pairs
    )  # fmt: skip


SHUFFLED = (
    "The agent was trained on states in the order of slots, so that a shuffled one is also a state that it "
    "has not seen: it prefers the last slots less then, as the factors beside the verdict show. A lead over "
    "it is therefore not worth of the clients' losses alone."
)


def _factors_shuffled(artifact: str) -> tuple[Supplement, ...]:
    """Compare the factors of small groups with the input in its order and shuffled."""
    parts = (
        Part(
            f"factor of small groups - of the main group, {words}",
            by_cell(lambda part, name=name: estimands.factor_gap(part, name), needs=(name,)), unit="%",
        )
        for name, words in (("feddrl", "input in its order"), ("shuffled", "input shuffled"))
    )  # fmt: skip
    return (supplement(artifact, *parts),)


SORTED = (
    "Slots by client number are this suite's choice. The authors' code lists clients in the order of a "
    "Python set, which for ten of a hundred clients is near to a drawn one (A5)."
)
FACTOR_GAP_DRAWN = Part(
    "factor of small groups - of the main group, slots drawn, after a quarter of the rounds",
    by_cell(lambda part: estimands.factor_gap(part, "drawn"), needs=("drawn",)), unit="%", cells=1,
)  # fmt: skip
ONLINE = (
    "FedDRL is its online mode, whose agent learns from round 1 without worker rounds before; under CE all "
    "clients have as many images, so that FedAvg's weights are the uniform ones."
)
EXACT = at_scale("the paper's rounds and local epochs", rounds=estimands.ROUNDS, local_epochs=5)
CLAIMS = (
    Claim(
        "FEDDRL-R5", "at the paper's length FedDRL leads the better of FedAvg and FedProx", PLACE, ARTIFACT,
        parts=(_lead("CE"),), gates=(flat(*THREE), AGENT_TRAINED),
        supplements=_late_supplements("fedavg", "fedprox"),
    ),
    Claim(
        "FEDDRL-R6",
        "at the paper's length the agent learns: it is more accurate than without training, and than with "
        "the clients' losses in the wrong order", PLACE, ARTIFACT,
        parts=(
            _best_less("feddrl", "untrained", "FedDRL - its untrained policy"),
            _best_less("feddrl", "shuffled", "FedDRL - with shuffled input"),
        ),
        gates=(flat("feddrl", "untrained", "shuffled"), AGENT_TRAINED),
        supplements=(*_late_supplements("untrained", "shuffled"), *_factors_shuffled(ARTIFACT)),
        how="Decided on the best round, which is chosen with the test data as in the paper. The mean of the "
        "last 50 rounds, which stands beside the verdict, is not registered and may say otherwise. "
        f"{SHUFFLED}",
    ),
    Claim(
        "FEDDRL-R7", "at the paper's length FedDRL is more accurate than uniform weights", PLACE, ARTIFACT,
        parts=(_best_less("feddrl", "uniform", "FedDRL - uniform"),),
        gates=(flat("feddrl", "uniform"), AGENT_TRAINED), supplements=_late_supplements("uniform"),
        how="Under CE all clients have as many images, so that FedAvg's weights are uniform and this is R5's "
        "number wherever FedAvg is the better baseline.",
    ),
    Claim(
        "FEDDRL-R8", "at the paper's length the repaired agent is more accurate than uniform weights", PLACE,
        ARTIFACT, parts=(_best_less("repaired", "uniform", "repaired - uniform"),),
        gates=(flat("repaired", "uniform"),),
        supplements=_late_supplements("uniform", own="repaired", name="repaired"),
        how="Decided on the best round, in which even the untrained agent is ahead of uniform weights.",
    ),
    Claim(
        "FEDDRL-R9",
        "FedDRL's lead needs no slots that tell the group: with slots in drawn order it is still more "
        "accurate than uniform weights", PLACE, ARTIFACT,
        parts=both("drawn", "uniform", "FedDRL, slots drawn - uniform"),
        gates=(flat("drawn", "uniform"), AGENT_TRAINED),
        supplements=(
            supplement(
                ARTIFACT,
                *highest_means(
                    ("drawn", "uniform", "FedDRL, slots drawn - uniform"),
                    ("feddrl", "uniform", "FedDRL - uniform"),
                ),
            ),
        ),
    ),
    Claim(
        "FEDDRL-R10",
        "with slots in drawn order clients of small groups still receive larger impact factors", PLACE,
        ARTIFACT, parts=(FACTOR_GAP_DRAWN,), gates=(AGENT_TRAINED,),
    ),
    Claim(
        "FEDDRL-R11", "slots by client number are part of FedDRL's late lead", PLACE, ARTIFACT,
        parts=(late_less("feddrl", "drawn", "FedDRL - FedDRL, slots drawn"),),
        gates=(flat("feddrl", "drawn"), AGENT_TRAINED), how=SORTED,
    ),
    Claim(
        "FEDDRL-R12", "under CN too FedDRL leads FedAvg and FedProx at the paper's length", CN_PLACE,
        CN_ARTIFACT,
        parts=(
            _lead("CN"),
            late_less("feddrl", "fedavg", "FedDRL - FedAvg"),
            late_less("feddrl", "fedprox", "FedDRL - FedProx"),
        ),
        gates=(flat(*THREE), AGENT_TRAINED),
        how="A lead over FedProx alone leaves open whether FedDRL leads the better baseline.",
    ),
    Claim(
        "FEDDRL-R13", "under CN training the agent makes FedDRL more accurate", CN_PLACE, CN_ARTIFACT,
        parts=both("feddrl", "untrained", "FedDRL - its untrained policy"),
        gates=(flat("feddrl", "untrained"), AGENT_TRAINED),
    ),
    Claim(
        "FEDDRL-R14", "under CN FedDRL is less accurate with the clients' losses in the wrong order",
        CN_PLACE, CN_ARTIFACT,
        parts=both("feddrl", "shuffled", "FedDRL - with shuffled input"),
        gates=(flat("feddrl", "shuffled"), AGENT_TRAINED), how=SHUFFLED,
        supplements=_factors_shuffled(CN_ARTIFACT),
    ),
    Claim(
        "FEDDRL-R15", "under CN FedDRL is more accurate than uniform weights", CN_PLACE, CN_ARTIFACT,
        parts=both("feddrl", "uniform", "FedDRL - uniform"),
        gates=(flat("feddrl", "uniform"), AGENT_TRAINED),
        how="Under CN clients have different numbers of images, so that uniform weights are not FedAvg's.",
    ),
    Claim(
        "FEDDRL-R16", "under CN with slots in drawn order FedDRL is still more accurate than uniform weights",
        CN_PLACE, CN_ARTIFACT,
        parts=both("drawn", "uniform", "FedDRL, slots drawn - uniform"),
        gates=(flat("drawn", "uniform"), AGENT_TRAINED),
    ),
    Claim(
        "FEDDRL-R17", "under CN too slots by client number are part of FedDRL's late lead", CN_PLACE,
        CN_ARTIFACT, parts=(late_less("feddrl", "drawn", "FedDRL - FedDRL, slots drawn"),),
        gates=(flat("feddrl", "drawn"), AGENT_TRAINED), how=SORTED,
    ),
    Claim(
        "FEDDRL-R18",
        "under CN too clients of small groups receive larger impact factors with slots in drawn order",
        CN_PLACE, CN_ARTIFACT, parts=(FACTOR_GAP_DRAWN,), gates=(AGENT_TRAINED,),
    ),
    *(
        Claim(
            f"FEDDRL-R{number}", f"under {scheme} the repaired agent is more accurate than uniform weights",
            place, artifact,
            parts=both("repaired", "uniform", "repaired - uniform"), gates=(flat("repaired", "uniform"),),
            supplements=(supplement(artifact, *both("repaired", "feddrl", "repaired - FedDRL")),),
        )
        for number, scheme, place, artifact in REPAIRED_IN
    ),
    *(
        Claim(
            f"FEDDRL-R{number}", f"on MNIST under CE {words}", MNIST_PLACE, MNIST_ARTIFACT,
            parts=both("feddrl", other, f"FedDRL - {name}"),
            gates=(flat("feddrl", other), AGENT_TRAINED),
        )
        for number, words, other, name in (
            (21, "too FedDRL leads FedAvg at the paper's length", "fedavg", "FedAvg"),
            (22, "training the agent makes FedDRL more accurate", "untrained", "its untrained policy"),
        )
    ),
    *(
        Claim(
            f"FEDDRL-R{number}", f"under {partition} training the repaired agent makes it more accurate",
            place, artifact, parts=both("repaired", "repaired_untrained", "repaired - its untrained policy"),
            gates=(flat("repaired", "repaired_untrained"),),
        )
        for number, partition, place, artifact in REPAIRED_TRAINED_IN
    ),
    Claim(
        "FEDDRL-R25",
        f"in the first {EARLY_ROUNDS} rounds under CN the repaired agent is more accurate than uniform "
        "weights and than its untrained policy", "ours: Fashion-MNIST, CN, N = 100", "feddrl/early_lead",
        parts=tuple(
            Part(
                f"mean accuracy over these rounds, repaired - {words}",
                by_cell(estimands.less("repaired", other, over_rounds), needs=("repaired", other)), cells=1,
            )
            for other, words in (("uniform", "uniform"), ("repaired_untrained", "its untrained policy"))
        ),
        gates=(at_scale(f"{EARLY_ROUNDS} rounds", rounds=EARLY_ROUNDS),),
    ),
    Claim(
        "FEDDRL-R26", "with the paper's CNN and printed settings, FedDRL, online, leads FedAvg and FedProx",
        EXACT_PLACE, EXACT_ARTIFACT,
        parts=(
            _lead("CE", "feddrl_online"),
            late_less("feddrl_online", "fedavg", "FedDRL, online, CNN - FedAvg"),
            late_less("feddrl_online", "fedprox", "FedDRL, online, CNN - FedProx"),
        ),
        gates=(flat(*BASELINES, "feddrl_online"), EXACT), how=ONLINE,
    ),
    Claim(
        "FEDDRL-R27", "in this setting training the agent makes FedDRL more accurate", EXACT_PLACE,
        EXACT_ARTIFACT,
        parts=both("feddrl_online", "untrained", "FedDRL, online, CNN - its untrained policy"),
        gates=(flat("feddrl_online", "untrained"), EXACT), how=ONLINE,
    ),
    Claim(
        "FEDDRL-R28", "in this setting FedDRL's lead needs no slots that tell the group: with slots in drawn "
        "order it is still more accurate than FedAvg", EXACT_PLACE, EXACT_ARTIFACT,
        parts=both("drawn_online", "fedavg", "FedDRL, online, CNN, slots drawn - FedAvg"),
        gates=(flat("drawn_online", "fedavg"), EXACT), how=ONLINE,
    ),
)  # fmt: skip
