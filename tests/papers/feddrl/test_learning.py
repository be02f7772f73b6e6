"""What the agent could gain and what it learned, against numbers worked by hand; the agent alone."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from worlds import make_world

from fedlib.analysis.claims import verdict_on
from fedlib.federation import rounds
from fedlib.methods.feddrl.method import FedDRL
from fedlib.papers.feddrl import (
    ddpg_bandit,
    learning,
    learning_answers,
    learning_figures,
    quantities,
    repair,
    repair_claims,
)
from fedlib.papers.feddrl.repair import REPAIRED
from fedlib.processors import torch_threads


def made_rows(variant, rewards, *, seed=0, tilts=None, accuracy=0.5, **more):
    """Rows of one run whose rewards are these; tilts: log-weight of the small groups less the main one's."""
    method, options = {
        "uniform": ("fedavg", {"weights": "uniform"}), "untrained": ("feddrl", {"agent": "untrained"}),
        "small_groups": ("heuristic_weights", {"rule": "small_groups"}), "feddrl": ("feddrl", {}),
        "largest_losses": ("heuristic_weights", {"rule": "largest_losses"}),
        "best_constant": ("best_constant", {}), "keep": ("feddrl", {"keep_experience": True}),
        "permuted": ("feddrl", {"agent": "permuted"}),
        "repaired": ("feddrl", REPAIRED), "repaired_permuted": ("feddrl", {**REPAIRED, "agent": "permuted"}),
        "repaired_untrained": ("feddrl", {**REPAIRED, "agent": "untrained"}),
        "all": ("feddrl", repair.ALL), "all_but_losses": ("feddrl", repair.SEARCHED["all_but_losses"]),
    }[variant]  # fmt: skip
    logs = np.zeros((len(rewards), 10))
    logs[:, 6:] = np.zeros((len(rewards), 1)) if tilts is None else np.array(tilts)[:, None]
    weights = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    return pd.DataFrame(
        {
            "run": f"{variant}{seed}{more}", "status": "ok", "stand_in": False,
            "method": method, "method_options": json.dumps(dict(options)),
            "dataset": "fmnist", "partition": "ce", "partition_options": "{}", "num_clients": 10,
            "cohort_size": 10, "seed": seed, "rounds": len(rewards), "round": range(1, len(rewards) + 1),
            "test_accuracy": accuracy,
            "client_loss_mean": -np.array(rewards), "client_loss_min": 1.0, "client_loss_max": 1.0,
            "clients": json.dumps(list(range(10))), "weights": [json.dumps(w.tolist()) for w in weights],
            **{"profile": "reduced", **more},
        }
    )  # fmt: skip


def test_gains_by_hand():
    """Uniform earns -2, the rule -1, the agent -1.75: a quarter of the room; seeds differ by +-0.1."""
    level = {"uniform": (-2.0, 0.5), "small_groups": (-1.0, 0.56), "feddrl": (-1.75, 0.51)}
    rows = pd.concat(
        made_rows(name, [reward + shift] * 3, seed=seed, accuracy=accuracy)
        for name, (reward, accuracy) in level.items()
        for seed, shift in enumerate((-0.1, 0.1))
    )
    found = learning.gains(rows).set_index("variant")
    assert found.loc["feddrl", ["nats", "points", "of the room"]].tolist() == pytest.approx([0.25, 1.0, 0.25])
    assert found.loc["small_groups", ["nats low", "nats high", "n"]].tolist() == pytest.approx([1.0, 1.0, 2])


def small_rows(**levels):
    """Two seeds of every variant, 0.1 nats apart in all of them, at these mean rewards."""
    return pd.concat(
        made_rows(name, [reward + shift] * 3, seed=seed)
        for name, reward in levels.items()
        for seed, shift in enumerate((-0.05, 0.05))
    )


@pytest.mark.parametrize(("apart", "barely"), [(0.02, False), (0.078, True), (0.09, False)])
def test_a_gain_that_is_barely_decided_is_told_as_such(apart, barely):
    """-0.5 from the untrained policy, two seeds this far apart: the half-width is 12.706 / 2 times that,
    0.13, 0.496 and 0.57."""
    rows = [
        made_rows(name, [reward] * 3, seed=seed)
        for seed, sign in enumerate((-1, 1))
        for name, reward in (("feddrl", -2.5 + sign * apart / 2), ("untrained", -2.0), ("uniform", -2.0))
    ]
    told, _ = learning_answers.does_it_learn(stored(small_setting=pd.concat(rows)))
    assert told.endswith("training lowers it (barely).") == barely


@pytest.mark.parametrize(
    ("feddrl", "says"),
    [(-1.5, "it learns"), (-2.5, "training lowers it"), (-2.0, "that it learns does not show")],
)
def test_whether_the_agent_learns_is_said_as_its_rewards_say(feddrl, says):
    rows = {"feddrl/small_setting": small_rows(feddrl=feddrl, untrained=-2.0, uniform=-2.1)}
    training, uniform = learning_answers.does_it_learn(lambda name: rows.get(name, pd.DataFrame()))
    assert training.endswith(
        f" against its untrained policy (`small_setting`: Fashion-MNIST, 2 seeds): {says}."
    )
    assert uniform.endswith(" nats against uniform weights.")


@pytest.mark.parametrize(
    ("permuted", "words"),
    [
        (-2.5, "+0.50 [+0.50, +0.50] against itself on permuted rewards (better)"),
        (-1.5, "−0.50 [−0.50, −0.50] against itself on permuted rewards (worse)"),
    ],
)
def test_the_printed_agent_stands_beside_itself_on_permuted_rewards(permuted, words):
    rows = small_rows(feddrl=-2.0, untrained=-2.1, uniform=-2.2, permuted=permuted)
    _, told = learning_answers.does_it_learn(stored(small_setting=rows))
    assert told == f"It is +0.20 [+0.20, +0.20] nats against uniform weights and {words}."


def test_repair_and_the_agent_alone_are_told_where_there_are_rows():
    """Alone the printed agents end 0.8 and 0.6 apart around -2.2; what they do around 0 is in the figure."""
    case = {"settings": "printed", "amplitude": 0.3, "seed": [0, 1], "round": 70, "updates": 595,
            "mu_main": 0.1}  # fmt: skip
    low = pd.DataFrame({**case, "offset": -2.2, "mu_small": [0.9, 0.7]})
    around_0 = pd.DataFrame({**case, "offset": 0.0, "mu_small": [0.2, 0.4]})
    centred = low.assign(settings="centring", mu_small=0.6)
    flat = [low.assign(amplitude=0.0, offset=offset, mu_small=mu) for offset, mu in ((-2.2, 0.2), (2.2, 0.9))]
    own = stored(
        repair_judged=small_rows(
            repaired=-1.5, uniform=-2.0, repaired_permuted=-2.0, feddrl=-2.1, small_groups=-1.0
        ),
        ddpg_bandit=pd.concat([low, around_0, centred, *flat]),
    )
    ends = learning.bandit_ends(own("feddrl/ddpg_bandit")).set_index(["settings", "rewards around (nats)"])
    pays, flat = "a tilt pays: small less main group", "constant reward: mu"
    assert ends.loc[("printed", -2.2), [pays, flat]].tolist() == pytest.approx([0.7, 0.15])
    assert ends.loc[("printed", 0.0), pays] == pytest.approx(0.2)
    assert np.isnan(ends.loc[("printed", 0.0), flat])  # no constant reward was tried there
    (told,) = learning_answers.what_the_repair_changes(own)
    assert told.endswith(
        "difference of 1 between the groups' means (2 agents, 595 updates). "
        "Around −2.20 nats, where FedDRL's rewards lie, the printed settings end at +0.7 [−0.6, +2.0]. "
        "There a centred reward brings +0.50 [+0.50, +0.50]. "
        "Where no action changes the reward, its level alone moves the means from 0.5 to 0.15 around −2.20 "
        "and 0.50 around +2.20 nats."
    )
    moved, hidden = learning_answers.what_the_level_does(own("feddrl/ddpg_bandit"))
    assert moved == (
        "On a bandit around −2.20 nats that level alone moves all means of the printed agent by 0.35; what "
        "its actions earn moves the two groups' means 0.70 apart."
    )
    assert hidden == "A state of shares hides the level from the critic (A6)."
    *changes, told = learning_answers.does_it_learn(own)
    assert changes == learning_answers.CHANGES
    assert told == (
        "Against uniform weights: it earns more on Fashion-MNIST (`repair_judged`; numbers at the top)."
    )
    told = learning_answers.repaired(own("feddrl/repair_judged"))
    assert told[2] == (
        "On images drawn from all of Fashion-MNIST (`repair_judged`, 2 seeds) the repaired agent's mean "
        "reward is +0.50 [+0.50, +0.50] nats against uniform weights, +0.00 [+0.00, +0.00] where its rewards "
        "are dealt to other rounds (permuted): it learns. Its gain is +50.000000 [+50.000000, +50.000000] % "
        "of that of the rule for small groups. The printed agent's reward is −0.10 [−0.10, −0.10] nats "
        "against uniform weights."
    )


def stored(**artifacts):
    """`rows_of` of a store that has these rows of FedDRL's artifacts."""
    return lambda name: artifacts.get(name.removeprefix("feddrl/"), pd.DataFrame())


@pytest.mark.parametrize(
    ("constant", "says"),
    [(-1.375, "+0.12 [+0.12, +0.12] nats: the search beats every rule"),
     (-1.625, "−0.12 [−0.12, −0.12] nats: the search falls short of it")],
)  # fmt: skip
def test_room_to_gain_by_hand(constant, says):
    """Uniform weights earn -2.0, the rules -1.5 and -1.8, the searched weights 1/8 beside the better one."""
    rows = small_rows(
        feddrl=-2.0, uniform=-2.0, small_groups=-1.5, largest_losses=-1.8, best_constant=constant
    )
    room, search, *_ = learning_answers.why_not(stored(small_setting=rows_with_untrained(rows)))
    assert "the rule “small groups up” earns +0.50 [+0.50, +0.50] nats against uniform weights" in room
    assert search == f"That search less the best of 2 hand-written rules is {says}."


def rows_with_untrained(rows):
    """These rows and the untrained agent's, whose raw reward is 0.5 of its tilt's sign and as much noise."""
    x, e = np.tile([1, -1, 1, -1], 4), np.tile([1, 1, -1, -1], 4)
    untrained = [
        made_rows("untrained", 0.5 * x + 0.5 * e - 2.0, seed=seed, tilts=x) for seed in rows.seed.unique()
    ]
    return pd.concat([rows, *untrained])


def test_signal_and_the_kept_buffer_are_told():
    """Half of the raw variance; with the buffer kept 0.3 nats less."""
    rows = rows_with_untrained(small_rows(feddrl=-2.0, keep=-2.3, uniform=-2.0))
    signal, kept = learning_answers.why_not(stored(small_setting=rows))
    assert signal.startswith("The tilt to small groups explains 50.0 % of the raw reward's variance and ")
    assert kept == (
        "Going on with the workers' experience, which is discarded, changes the mean reward by −0.30 "
        "[−0.30, −0.30] nats: it hurts."
    )


def test_the_search_names_what_it_has_run():
    searched = f"of {len(repair.SEARCHED)} variants on 2 of 5 seeds."
    rows = small_rows(keep=-1.5, feddrl=-2.1, uniform=-2.0)
    assert learning_answers.what_the_repair_changes(stored(repair_search=rows)) == [
        f"The search ran 2 {searched} 1 of 1 single changes earns clearly more than uniform weights: `keep`."
    ]
    rows = small_rows(repaired=-1.5, all=-1.25, all_but_losses=-2.25, uniform=-2.0)
    assert learning_answers.what_the_repair_changes(stored(repair_search=rows)) == [
        f"The search ran 3 {searched} "
        f"2 of 3 combinations earn clearly more than uniform weights: `all` and `{repair.FROZEN}`. "
        "The frozen one's mean reward less the highest, that of `all`, is −0.25 [−0.25, −0.25] nats.",
    ]
    rows = small_rows(repaired=-1.5, all=-2.1, uniform=-2.0)
    assert learning_answers.what_the_repair_changes(stored(repair_search=rows))[-1].endswith(
        " No combination has a higher mean reward than the frozen one."
    )


def test_separation_of_the_groups_in_the_last_rounds_by_hand():
    """Twenty rounds: in the last two, mu of the four small clients is 0.5 and 0.3 above the others'."""
    mu = [[0.5] * 10] * 18 + [[0.2] * 6 + [0.7] * 4, [0.2] * 6 + [0.5] * 4]
    rows = pd.concat(
        made_rows("repaired", [-1.0] * 20, seed=seed, mu=[json.dumps(m) for m in mu]) for seed in (0, 1)
    )
    assert learning.mean_gaps(quantities.named(rows), "repaired").tolist() == pytest.approx([0.4, 0.4])
    assert learning.mean_gaps(quantities.named(rows), "feddrl").empty
    (told,) = learning_answers.what_the_repair_changes(stored(repair_means=rows))
    assert told == (
        "In the last 2 rounds the mean mu of small groups is compared with the main group's. Of the repaired "
        "agent it is +0.40 [+0.40, +0.40] (Fashion-MNIST): it separates them."
    )


def test_signal_by_hand():
    """y = 0.5 x + 0.5 e with x and e orthogonal signs: slope 0.5, R^2 1/2, t = sqrt(degrees of freedom)."""
    x, e = np.tile([1, -1, 1, -1], 4), np.tile([1, 1, -1, -1], 4)
    rows = pd.concat(
        made_rows("untrained", 0.5 * x + 0.5 * e - level, seed=seed, tilts=x)
        for seed, level in ((0, 2.0), (1, 5.0))
    )
    raw = learning.signal(rows).set_index("reward").loc["raw"]
    assert raw[["slope", "R2", "t", "rounds"]].tolist() == pytest.approx([0.5, 0.5, np.sqrt(32 - 2 - 1), 32])


def test_of_two_rounds_no_signal_is_told():
    rows = made_rows("untrained", [-2.0, -1.5], tilts=[0.1, -0.1])
    assert learning.signal(rows).empty
    assert learning_answers.why_not(stored(small_setting=rows)) == []


def test_detrending_brings_the_signal_out():
    x = np.random.default_rng(0).choice([-1.0, 1.0], 100)
    rows = made_rows("untrained", 0.1 * x - 5 * np.exp(-np.arange(100) / 30), tilts=x)
    found = learning.signal(rows).set_index("reward")
    assert found.R2["raw"] < 0.05
    assert found.R2["detrended"] > 0.3
    assert found.slope["detrended"] == pytest.approx(0.1, abs=0.01)


def test_means_are_averaged_over_seeds():
    own = [made_rows("feddrl", [-1.0], seed=s, mu=json.dumps([m] * 10)) for s, m in ((0, 0.2), (1, 0.4))]
    found = learning.means(pd.concat(own), ("feddrl",))
    assert found.mu.tolist() == pytest.approx([0.3] * 10)
    assert found.client.tolist() == list(range(10))


@pytest.mark.parametrize("options", [{}, {"keep_experience": True}, {"updates": 2}, {"mode": "online"}])
def test_updates_are_counted_as_the_agent_makes_them(options):
    method = FedDRL(hidden_size=8, worker_rounds=12, offline_passes=2, **options)
    with torch_threads(1):
        last = list(rounds(make_world(rounds=9), method))[-1]
    counted = learning.count_updates(method, 9)
    assert (
        last.state["memory"]["learner"]["agent"]["steps"]
        == counted["offline updates"] + counted["online updates"]
    )
    assert counted["merged"] == (0 if options.get("mode") == "online" else 22)


def test_the_papers_agent_learns_a_thousand_times_more_often():
    """At T = 40 with 20 worker rounds 38 experiences and 100 offline updates; at T = 1000 about 130,000."""
    reduced, paper = learning.learning_cost("reduced"), learning.learning_cost("paper")
    assert (reduced["merged"], reduced["offline updates"]) == (38, 100)
    assert (paper["merged"], paper["offline updates"]) == (1998, 6200)
    assert paper["online updates"] == sum(n // 4 for n in range(999))
    table = learning.learning_costs().set_index("runs")
    assert table.loc["table 3, paper"].to_dict() == {**paper, "updates": 130_451}
    small = table.loc[["small setting, reduced", "the same, repaired, reduced"]]
    assert (small.merged + small.own).tolist() == [297, 297]  # 2 workers and the run, 99 each
    assert small.updates.tolist() == [50 * 12 + 1176, 200 * 12 + 1176]  # 198 // 16 = 12 batches a pass


def test_a_constant_reward_moves_the_means_and_centring_does_not():
    size = ddpg_bandit.Size(agents=3, rounds=30)
    printed = ddpg_bandit.play(FedDRL(), -2.2, 0.0, size).set_index("round").loc[30]
    centred = ddpg_bandit.play(FedDRL(centring=0.3), -2.2, 0.0, size).set_index("round").loc[30]
    assert (printed.mu_small < 0.45).all()
    assert ((centred.mu_small - 0.5).abs() < 0.05).all()


def test_bandit_rows_show_every_case():
    rows = ddpg_bandit.ddpg_bandit("smoke")
    cases = rows[["settings", "offset", "amplitude"]].drop_duplicates()
    assert len(cases) == 3 * 2 + 2 * 2
    assert set(rows["round"]) == {0, 10, 20}


# --- the repair -----------------------------------------------------------------------------


def judged(**levels):
    """Rows of both data sets, six seeds: mean rewards as given, with a little spread; accuracy 0.5."""
    rng = np.random.default_rng(0)
    return pd.concat(
        made_rows(
            name, [level + 0.01 * rng.standard_normal()] * 12, seed=seed, dataset=data, accuracy=accuracy
        )
        for data in ("fmnist", "mnist")
        for name, (level, accuracy) in levels.items()
        for seed in range(6)
    )


LEVELS = {
    "uniform": (-2.2, 0.70), "untrained": (-2.2, 0.70), "small_groups": (-1.5, 0.76),
    "repaired_untrained": (-2.2, 0.70),
    "repaired": (-1.8, 0.74), "repaired_permuted": (-2.7, 0.65),
}  # fmt: skip


def verdicts(**changes):
    rows = judged(**{**LEVELS, **changes})
    return [verdict_on(claim, rows).verdict for claim in repair_claims.CLAIMS]


def test_a_repair_that_works_is_supported_throughout():
    assert verdicts() == ["supported"] * 4


def test_a_repair_no_better_than_uniform_weights_is_not_supported():
    assert verdicts(repaired=(-2.2, 0.70)) == ["not supported", "not supported", "supported", "not supported"]


def test_a_gain_that_permuted_rewards_have_too_is_not_learned():
    assert verdicts(repaired_permuted=(-1.75, 0.74))[2] == "not supported"


def test_accuracy_of_curves_that_still_rise_decides_nothing():
    """1.2 points a round in the last quarter: the reward's part stands, the accuracy's does not."""
    rows = judged(**LEVELS)
    rising = rows.assign(test_accuracy=rows.test_accuracy + 0.012 * rows["round"])
    found = verdict_on(repair_claims.CLAIMS[0], rising)
    assert [effect.verdict for effect in found.effects] == ["supported", "not testable here"]


def test_a_fifth_of_the_room_is_too_little():
    """0.7 nats of room: 0.14 gained, a quarter is 0.175."""
    assert verdicts(repaired=(-2.06, 0.74))[3] == "not supported"


def test_the_estimand_of_the_room_by_hand():
    """(-1.8 + 2.2) - 0.25 * (-1.5 + 2.2) = 0.225, in both data sets."""
    found = repair_claims.above_share_of_room(judged(**LEVELS))
    assert list(found.columns) == ["fmnist", "mnist"]
    assert found.mean().tolist() == pytest.approx([0.225, 0.225], abs=0.02)


def test_departures_leave_out_and_add_one_thing():
    assert set(repair.SEARCHED["all"].items()) == {
        pair for options, _ in repair.DEPARTURES.values() for pair in options.items()
    }
    for name, (options, _) in repair.DEPARTURES.items():
        left = repair.SEARCHED[f"all_but_{name}"]
        assert {**left, **options} == repair.SEARCHED["all"]
        assert not set(options) & set(left)
    assert len({json.dumps(options, sort_keys=True) for options in repair.SEARCHED.values()}) == len(
        repair.SEARCHED
    )


@pytest.mark.parametrize("name", ["plot_gains", "plot_means"])
def test_figures_of_learning_are_drawn(name):
    rows = judged(**LEVELS).assign(mu=json.dumps([0.5] * 10))
    fig = getattr(learning_figures, name)(rows)
    assert len(fig.axes) == {"plot_gains": 4, "plot_means": 6}[name]
    plt.close(fig)


def test_the_figure_of_the_agent_alone_is_drawn():
    rows = ddpg_bandit.ddpg_bandit("smoke").assign(profile="smoke")
    fig = learning_figures.plot_bandit(rows)
    assert len(fig.axes) == 5 * 2
    plt.close(fig)
