"""Faults that people have met with positional encodings, kind by kind: each shown right, under its number.

`tests/test_cases.py` runs them. A case is a function without arguments: the small input that shows the fault, and the
right value, from the formula in plain Python or from numbers worked out elsewhere, never from what is judged.
"""
