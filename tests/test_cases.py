"""Every fault of a list that people have met with positional encodings, shown right by its small input, by its number.

`pytest tests/test_cases.py -k B12` runs one of them. The numbers are those of the list, kind by kind.
"""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from . import cases
from .cases.register import CASES, Check

for _module in pkgutil.iter_modules(cases.__path__):
    importlib.import_module(f"{cases.__name__}.{_module.name}")

# What each file is about, and all numbers of its kind.
LIST = {
    "k01_axis": "B01 B02 B04 B06 B07 B09 B10 B11",
    "k02_widths": "B12 B13 B15 B16 B17 B18",
    "k03_length": "B19 B21 B22 B24 B25 B26",
    "k04_checkpoints": "B28 B29 B31 B32 B42",
    "k05_training": "B34 B35 B36 B37 B39 B40 B41",
    "k06_padding": "B43 B45 B46 B48 B49 B50 B51 B52 B53 B54 B90",
    "k07_decoding": "B55 B56 B58 B59 B60 B61 B89",
    "k08_caches": "B63 B64 B66 B68",
    "k09_precision": "B69 B70 B71 B72 B74 B75 B77 B78 B80 B81 B82",
    "k10_dtypes": "B83 B84 B86 B87 B88",
    "k11_devices": "B92 B94 B95 B96 B97 B98",
    "k12_wrappers": "B99 B100 B102 B103",
    "k13_positions": "B104 B105 B107 B108 B109 B112",
    "k14_graphs": "B115 B117 B118 B119 B120",
    "k15_formula": "B121 B122 B123 B124 B125 B127 B128 B129 B130",
    "k16_rotary": "B131 B132 B135 B136 B137 B138",
    "k17_scaling": "B140 B142 B143 B145 B146",
    "k18_maps": "B147 B149 B150 B152 B154 B155",
    "k19_time": "B156 B158 B160",
    "k20_magnitude": "B161 B162 B164 B165 B166",
    "k21_learners": "B167 B168 B169 B170 B171 B172 B173 B175 B176 B177",
    "k22_cost": "B178 B179 B180 B181 B182",
}
NUMBERS = [number for numbers in LIST.values() for number in numbers.split()]
# Nothing that this library holds can answer these.
ELSEWHERE = {
    "B169": "asks for encodings that are joined to the vectors; the layers add them, as the paper does, and joining is "
    "torch.cat([x, encode(positions, dim)], -1)",
}


@pytest.mark.parametrize(
    "check", [pytest.param(CASES[n].check, id=f"{n}-{CASES[n].check.__name__}", marks=CASES[n].marks) for n in CASES]
)
def test_case(check: Check):
    check()


def test_no_case_is_forgotten():
    assert len(NUMBERS) == len(set(NUMBERS)) == 140
    assert sorted([*CASES, *ELSEWHERE]) == sorted(NUMBERS)
    assert all(ELSEWHERE.values())


def test_every_case_stands_with_its_kind():
    assert {number: noted.check.__module__.rpartition(".")[2] for number, noted in CASES.items()} == {
        number: module for module, numbers in LIST.items() for number in numbers.split() if number not in ELSEWHERE
    }
