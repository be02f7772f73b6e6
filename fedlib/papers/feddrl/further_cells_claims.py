"""Our claims about further cells at the paper's length: ten clients, the authors' files, MNIST.

FEDDRL-R29 and R30 ask of ten clients, all of whom take part in every round, what R5 and R6 ask of a hundred,
in both accuracies. They were written while FedDRL's first run was near its end, and its accuracy and FedAvg's
of that seed, 0, had been seen; they are registered before any run of other seeds or of a control had ended.
FEDDRL-R31 and R32 ask there what R9 and R11 ask; FedAvg's weights are the uniform ones. They were
registered with FedDRL's and FedAvg's rows of seeds 0 to 2 known, before any run with slots in drawn order
had ended its pretraining.

FEDDRL-R33 to R36 ask of CE and CN on the authors' own partition files, which give a client twice as many
images as ours, what R5 and R6 ask, in both accuracies: registered before any of these runs, with the
results of forty rounds on these files (`feddrl/authors_partitions`) known.

FEDDRL-R37 asks of MNIST under CE what R8 asks, in both accuracies; FedAvg's weights are the uniform ones
there. It was registered when the repaired agent's runs there were in training before round 1, with the rows
of all other methods of that cell known but for the online mode's and those with shuffled input. FEDDRL-R38
and R39 ask the same under CN and PA, against uniform weights, registered before any run of the repaired
agent there, with R37's verdict and the rows of FedDRL, FedAvg and uniform weights known.

FEDDRL-R40 asks of CE on the authors' file what R8 asks, in both accuracies; FedAvg's weights are the uniform
ones there. It was registered before any run of the repaired agent there, with the rows behind R33 to R36
and of the online mode known. R41 asks the same of CN, against uniform weights, and R42 and R43 ask of both
files what R31 asks: registered when R40's runs were in their first stage, before any run of theirs.
"""

from itertools import product

from fedlib.analysis.claims import Claim
from fedlib.analysis.supplements import supplement
from fedlib.papers.feddrl.estimands import AGENT_TRAINED, flat
from fedlib.papers.feddrl.length_claims import (
    FACTOR_GAP_DRAWN,
    MNIST_ARTIFACT,
    MNIST_PLACE,
    both,
    highest_means,
    late_less,
)
from fedlib.papers.feddrl.length_runs import WITH_TEN

TEN_SEEDS = (
    "Seeds 3 and 4, which complete the grid's five, were started when 0 to 2 had been looked at: those left "
    "R29 to R31 inconclusive and supported R32."
)
LEADS_AND_LEARNS = (
    ("FedDRL leads FedAvg at the paper's length", "fedavg", "FedAvg"),
    ("training the agent makes FedDRL more accurate", "untrained", "its untrained policy"),
)
DRAWN_LESS_FEDAVG = highest_means(
    ("drawn", "fedavg", "FedDRL, slots drawn - FedAvg"), ("feddrl", "fedavg", "FedDRL - FedAvg")
)


def authors_cell(scheme: str) -> str:
    """Artifact of a cell on the authors' own partition file, at the paper's length."""
    return f"feddrl/authors_{scheme.lower()}_at_length"


def authors_place(scheme: str) -> str:
    """The words for that cell in a claim."""
    return f"ours: {scheme} by the authors' file, Fashion-MNIST, N = 100, T = 1000"


TEN_PLACE = "ours: Fashion-MNIST with ten clients, CE, T = 1000"
CLAIMS = (
    *(
        Claim(
            f"FEDDRL-R{number}", f"with ten clients under CE {words}", TEN_PLACE, WITH_TEN,
            parts=both("feddrl", other, f"FedDRL - {name}"), gates=(flat("feddrl", other), AGENT_TRAINED),
            how=f"Seed 0 of FedAvg and FedDRL had been seen when this was registered. {TEN_SEEDS}",
        )
        for number, (words, other, name) in enumerate(LEADS_AND_LEARNS, 29)
    ),
    Claim(
        "FEDDRL-R31",
        "with ten clients FedDRL's lead needs no slots that tell the group: with slots in drawn order it is "
        "still more accurate than FedAvg", TEN_PLACE, WITH_TEN,
        parts=both("drawn", "fedavg", "FedDRL, slots drawn - FedAvg"),
        gates=(flat("drawn", "fedavg"), AGENT_TRAINED),
        supplements=(supplement(WITH_TEN, FACTOR_GAP_DRAWN, *DRAWN_LESS_FEDAVG),),
        how="Ten of ten clients take part, so that slots by client number tell the agent who each client is. "
        f"{TEN_SEEDS}",
    ),
    Claim(
        "FEDDRL-R32", "with ten clients too slots by client number are part of FedDRL's late lead", TEN_PLACE,
        WITH_TEN,
        parts=(late_less("feddrl", "drawn", "FedDRL - FedDRL, slots drawn"),),
        gates=(flat("feddrl", "drawn"), AGENT_TRAINED),
        how=f"The authors' code lists ten of ten clients by number too (A5). {TEN_SEEDS}",
    ),
    *(
        Claim(
            f"FEDDRL-R{number}", f"on the authors' own file under {scheme} {words}",
            authors_place(scheme), authors_cell(scheme),
            parts=both("feddrl", other, f"FedDRL - {name}"), gates=(flat("feddrl", other), AGENT_TRAINED),
            how="Seeds 3 and 4, registered with the others, were run when 0 to 2 had been looked at: those "
            "left all four of these claims inconclusive.",
        )
        for number, (scheme, (words, other, name)) in enumerate(product(("CE", "CN"), LEADS_AND_LEARNS), 33)
    ),
    *(
        Claim(
            f"FEDDRL-R{number}",
            f"on MNIST under {scheme} the repaired agent is more accurate than uniform weights",
            MNIST_PLACE.replace("CE", scheme), artifact,
            parts=both("repaired", uniform, f"repaired - {name}"), gates=(flat("repaired", uniform),),
            supplements=(supplement(artifact, *both("repaired", "feddrl", "repaired - FedDRL")),),
        )
        for number, scheme, artifact, uniform, name in (
            (37, "CE", MNIST_ARTIFACT, "fedavg", "FedAvg"),
            (38, "CN", f"{MNIST_ARTIFACT}_cn", "uniform", "uniform"),
            (39, "PA", f"{MNIST_ARTIFACT}_pa", "uniform", "uniform"),
        )
    ),
    *(
        Claim(
            f"FEDDRL-R{number}",
            f"on the authors' own file under {scheme} the repaired agent is more accurate than {words}",
            authors_place(scheme), authors_cell(scheme),
            parts=both("repaired", even, f"repaired - {name}"), gates=(flat("repaired", even),),
            supplements=(supplement(authors_cell(scheme), *both("repaired", "feddrl", "repaired - FedDRL")),),
        )
        for number, scheme, even, name, words in (
            (40, "CE", "fedavg", "FedAvg", "FedAvg"), (41, "CN", "uniform", "uniform", "uniform weights"),
        )
    ),
    *(
        Claim(
            f"FEDDRL-R{number}",
            f"on the authors' own file under {scheme} FedDRL's lead needs no slots that tell the group: with "
            "slots in drawn order it is still more accurate than FedAvg",
            authors_place(scheme), authors_cell(scheme),
            parts=both("drawn", "fedavg", "FedDRL, slots drawn - FedAvg"),
            gates=(flat("drawn", "fedavg"), AGENT_TRAINED),
            supplements=(supplement(authors_cell(scheme), FACTOR_GAP_DRAWN, *DRAWN_LESS_FEDAVG),),
        )
        for number, scheme in enumerate(("CE", "CN"), 42)
    ),
)  # fmt: skip
