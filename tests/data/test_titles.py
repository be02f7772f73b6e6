"""Titles of data sets."""

from fedlib.data import catalogue
from fedlib.data.synthetic.standins import STAND_INS
from fedlib.data.titles import TITLES, title_of


def test_every_set_of_the_catalogue_has_a_title_and_stand_ins_are_marked():
    assert set(TITLES) <= set(catalogue.names())
    known = [name for name in TITLES if title_of(name).endswith("(stand-in)")]
    assert known == [name for name in TITLES if name in STAND_INS]
    assert set(STAND_INS) <= set(TITLES)
    assert title_of("a-set-of-mine") == "a-set-of-mine"
