"""Agents without fedlib's round loop, as docs/adding.md shows them."""

import inspect
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from fedlib.errors import UsageError
from fedlib.federation import rounds, task_of
from fedlib.methods import METHODS
from fedlib.methods.feddrl.agent import AggregationAgent
from fedlib.paths import project_root

DRAWS = torch.Generator().manual_seed(0)
CLIENTS = [
    (torch.randn(20 + k, 8, generator=DRAWS), torch.randint(3, (20 + k,), generator=DRAWS)) for k in range(4)
]


def example(heading: str, number: int = 1, names: dict | None = None) -> dict:
    """The names that an example of a section leaves: the first one, with no others before it, by default."""
    page = (project_root() / "docs" / "adding.md").read_text()
    _, _, section = page.partition(f"## {heading}")
    names = {} if names is None else names
    exec(section.split("\n## ")[0].split("```python\n")[number].split("```")[0], names)
    return names


def test_a_method_of_yours_weights_clients_by_their_losses():
    method = example("A method")["LowLoss"](temperature=0.5)
    task = task_of(torch.nn.Linear(8, 3), CLIENTS, test=CLIENTS[0], rounds=2)
    rows = [row for result in rounds(task, method) for row in result.rows[0]]
    assert [row["round"] for row in rows if row["round"]] == [1, 2]
    weights = torch.tensor(json.loads(rows[-1]["weights"]))
    assert weights.sum().item() == pytest.approx(1, abs=1e-5)  # each is rounded to six digits
    assert not torch.allclose(weights, weights.mean())


def test_the_pages_learned_method_keeps_what_helped_and_resumes():
    method = example("A method", 2)["Tilt"](step=0.5)
    task = task_of(torch.nn.Linear(8, 3), CLIENTS, test=CLIENTS[0], rounds=6)
    results = list(rounds(task, method))
    memories = [result.state["memory"] for result in results]
    for (before, after), result in zip(pairwise(memories), results[1:], strict=True):
        helped = result.rows[0][0]["train_loss_mean"] < before["before"].item()
        assert after["kept"] == before["tried" if helped else "kept"]
        assert result.rows[0][0]["tilt"] == after["tried"].item()
    *_, resumed = rounds(task, method, results[3].state)
    assert resumed.rows == results[-1].rows


def test_feddrls_agent_decides_and_learns():
    names = example("FedDRL's agent in a loop of yours")
    assert names["weights"].shape == (1, names["clients"])
    assert names["weights"].sum().item() == pytest.approx(1)
    assert len(names["state"].replay) == 4
    assert torch.isfinite(names["loss"]).all()


def test_feddrls_agent_goes_on_from_a_checkpoint(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    heading = "FedDRL's agent in a loop of yours"
    names = example(heading, 2, example(heading))

    def two_rounds():
        state, losses = names["state"], torch.linspace(1, 2, names["clients"]).unsqueeze(0)
        for _ in range(2):
            state, weights, _ = names["agent"].step(state, losses, losses, losses, names["streams"])
            state, _ = names["agent"].learn(state, names["streams"]["replay"])
        return weights

    straight = two_rounds()
    assert not torch.equal(two_rounds(), straight), "the streams have moved on"
    example(heading, 3, names)
    assert torch.equal(two_rounds(), straight)


def test_auto_fedrl_and_favor_decide_and_learn():
    names = example("Other agents in a loop of yours", 2)
    assert names["weights"].sum().item() == pytest.approx(1)
    assert names["agent"].steps == 2  # the first round has nothing to compare its reward with
    assert names["seen"].shape == (1, 11, 4)
    assert names["chosen"].shape == (1, 3)
    assert torch.isfinite(names["loss"]).all()


def test_the_reports_agents_and_the_value_networks_decide_and_learn():
    names = example("Other agents in a loop of yours")
    assert names["weights"].sum().item() == pytest.approx(1)
    assert names["agent"].steps == 8  # from the third round on, with a full moving batch
    assert names["took"].shape == (12,)
    assert names["kept"].sum() >= 2
    assert set(names["epochs"].flatten().tolist()) <= {3, 5, 7}
    assert [team.steps for team in names["teams"]] == [6, 6]  # nine transitions, four needed
    assert torch.isfinite(names["loss"]).all()


def test_scaffold_trains_a_model_of_ones_own():
    names = example("A method with your model and tensors")
    assert names["row"]["round"] == 10
    assert torch.equal(names["model"][0].weight, names["result"].state["params"]["0.weight"][0])


def test_runs_need_no_artifact(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = example("An artifact of your own")["rows"]
    assert rows.groupby(["method", "seed"])["round"].max().tolist() == [2] * 4


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda x: x[:, :2], r"before given: torch.float32 \(1, 2\); allowed: .* \[1, 3\]"),
        (lambda x: x[0], r"before given: torch.float32 \(3,\)"),
        (lambda x: x.double(), "before given: torch.float64"),
        (lambda x: x.numpy(), "before given: float32"),
        (lambda x: x.tolist(), "allowed: a float32 tensor"),
    ],
)
def test_reports_of_the_wrong_form_are_refused(change, says):
    agent, reports = AggregationAgent(), torch.ones(1, 3)
    state = agent.start([torch.Generator().manual_seed(0)], slots=3)
    with pytest.raises(UsageError, match=says):
        agent.step(state, change(reports), reports, reports, lambda name: [np.random.default_rng(0)])


@pytest.mark.parametrize(
    ("name", "value", "options", "says"),
    [
        ("before", torch.nan, {}, r"before given: nan at \[0, 1\]; allowed: finite numbers, 0 or more"),
        ("after", torch.inf, {}, "after given: inf at"),
        ("after", -1.0, {}, r"after given: -1.0 at \[0, 1\]; allowed: finite numbers, 0 or more"),
        ("sizes", -5.0, {}, "sizes given: -5.0 at"),
        ("sizes", torch.nan, {"state": "raw"}, "sizes given: nan at"),
        ("before", torch.nan, {"state": "raw"}, "allowed: finite numbers$"),
    ],
)
def test_a_report_that_would_spoil_the_weights_is_refused(name, value, options, says):
    agent = AggregationAgent(**options)
    state = agent.start([torch.Generator().manual_seed(0)], slots=3)
    reports = {key: torch.ones(1, 3) for key in ("before", "after", "sizes")}
    reports[name][0, 1] = value
    stream = np.random.default_rng(0)
    with pytest.raises(UsageError, match=says):
        agent.step(state, **reports, streams=lambda name: [stream])
    assert stream.random() == np.random.default_rng(0).random()  # nothing was drawn


def test_negative_losses_are_fine_where_none_become_shares():
    agent, ones = AggregationAgent(state="raw"), torch.ones(1, 3)
    state = agent.start([torch.Generator().manual_seed(0)], slots=3)
    _, weights, _ = agent.step(state, -ones, -ones, ones, lambda name: [np.random.default_rng(0)])
    assert weights.isfinite().all()


OPTIONS = [{}, {"slot_order": "drawn"}, {"agent": "shuffled"}, {"slot_order": "drawn", "agent": "shuffled"}]


@pytest.mark.parametrize("options", OPTIONS)
def test_the_pages_streams_are_enough_for_every_option(options):
    streams = example("FedDRL's agent in a loop of yours")["streams"]
    agent, ones = AggregationAgent(**options), torch.ones(1, 3)
    state = agent.start([torch.Generator().manual_seed(0)], slots=3)
    _, weights, _ = agent.step(state, ones, ones, ones, streams)
    assert weights.sum().item() == pytest.approx(1)


@pytest.mark.parametrize("form", [lambda streams: streams, lambda streams: streams.__getitem__])
@pytest.mark.parametrize(
    ("streams", "says"),
    [
        ({"slots": 0}, "stream 'slots' is needed for slot_order='drawn', but not given; allowed: "),
        ({"shuffle": 0}, "stream 'shuffle' is needed for agent='shuffled', but not given"),
        ({"explore": 0}, "stream 'explore' is needed for step, .* explore, impact, slots, shuffle$"),
        ({"impact": 2}, "stream 'impact' given: 2 generators; allowed: a list of 1, one per agent"),
        ({"impact": None}, "stream 'impact' given: Generator; allowed: a list of 1"),
    ],
)
def test_a_stream_that_is_missing_or_of_the_wrong_form_is_told(form, streams, says):
    agent, ones = AggregationAgent(**OPTIONS[-1]), torch.ones(1, 3)
    state = agent.start([torch.Generator().manual_seed(0)], slots=3)
    stream = np.random.default_rng(0)
    counts = {**dict.fromkeys(agent.step_streams, 1), **streams}
    given = {name: stream if n is None else [stream] * n for name, n in counts.items() if n != 0}
    with pytest.raises(UsageError, match=says):
        agent.step(state, ones, ones, ones, form(given))
    assert stream.random() == np.random.default_rng(0).random()  # nothing was drawn


@pytest.mark.parametrize(
    ("generators", "slots", "says"),
    [
        ([torch.Generator()], 0, "slots=0 given; allowed: 1 or more clients of a round"),
        ([torch.Generator()], 4.0, "slots=4.0 given; allowed: 1 or more"),
        ([], 4, r"\[\] given; allowed: torch generators, one per agent"),
        ([0], 4, r"\[0\] given; allowed: torch generators"),
        (torch.Generator(), 4, "given; allowed: torch generators"),
    ],
)
def test_agents_start_from_generators_and_slots(generators, slots, says):
    with pytest.raises(UsageError, match=says):
        AggregationAgent().start(generators, slots)


def test_reports_with_a_gradient_leave_no_graph_in_the_memory():
    agent, stream = AggregationAgent(), [np.random.default_rng(0)]
    state = agent.start([torch.Generator().manual_seed(0)], slots=3)
    losses = torch.ones(1, 3, requires_grad=True)
    for _ in range(3):
        state, weights, _ = agent.step(state, losses * 2, losses * 1, losses * 5, lambda name: stream)
    kept = [*vars(state.replay).values(), state.state, state.action, weights]
    assert len(state.replay) == 2
    assert not any(tensor.requires_grad for tensor in kept)


def test_an_agent_learns_from_the_mapping_that_it_steps_with():
    agent, stream = AggregationAgent(), [np.random.default_rng(0)]
    state = agent.start([torch.Generator().manual_seed(0)], slots=3)
    for wrong in ("replay", np.random.default_rng(0), {"explore": stream}):
        with pytest.raises(UsageError, match="stream 'replay'"):
            agent.learn(state, wrong)
    with pytest.raises(UsageError, match="streams of type list given; allowed: a mapping"):
        agent.step(state, *[torch.ones(1, 3)] * 3, stream)
    assert agent.learn(state, {"replay": stream})[1] is None


def test_an_agents_state_shows_what_it_holds_and_no_numbers():
    state = AggregationAgent().start([torch.Generator().manual_seed(0)], slots=3)
    assert repr(state) == "AgentState(replay=Replay(0 experiences of 1 agents), mean_reward=None)"


def test_the_page_names_every_method_and_its_file():
    page = (project_root() / "docs" / "adding.md").read_text()
    section = page.partition("## Where each method is")[2].partition("\n## ")[0]
    for name, method in METHODS.items():
        assert f"`{name}`" in section
        file = Path(inspect.getfile(method)).relative_to(project_root() / "fedlib" / "methods").as_posix()
        assert f"`{file}`" in section or file == f"baselines/{name}.py"
