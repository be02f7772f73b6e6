"""The machine and the code that rows name, of runs that several processes worked on."""

from fedlib.experiments import provenance

VERSIONS = {"torch": "2.13.0", "fedlib": "0.1.0"}
CODE = {"commit": "a" * 40, "dirty": False, "source": "s", "versions": VERSIONS}
GPU, CPU = ({"device": kind, "device_name": name} for kind, name in (("cuda", "a GPU"), ("cpu", "a CPU")))


def test_a_run_that_moved_to_another_machine_names_both():
    """The provenance has the last process's machine; the segments have all of them, in order."""
    run = {**CODE, **CPU, "segments": [{**CODE, **GPU}, {**CODE, **CPU}, {**CODE, **CPU}]}
    found = provenance.of_finished_run(run)
    assert (found["device"], found["device_name"]) == ("cuda then cpu", "a GPU then a CPU")
    assert (found["commit"], found["torch"]) == ("a" * 40, "2.13.0")


def test_segments_of_before_they_had_a_name_take_the_last_ones_from_the_run():
    """Such a store knows the last device's name alone; with one segment that is the run's."""
    one = {**CODE, **CPU, "segments": [{**CODE, "device": "cpu"}]}
    assert provenance.of_finished_run(one)["device_name"] == "a CPU"
    two = {**CODE, **CPU, "segments": [{**CODE, "device": "cuda"}, {**CODE, "device": "cpu"}]}
    found = provenance.of_finished_run(two)
    assert (found["device"], found["device_name"]) == ("cuda then cpu", "unknown then a CPU")
    assert provenance.of_finished_run({**CODE, **CPU})["device"] == "cpu"
