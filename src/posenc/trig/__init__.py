"""Phases to sines and cosines: the only floor where exact values are rounded.

`quarter` evaluates any phase, `rows` multiplies prepared rows, `rounding` rounds once and knows where float64 was
not enough, `exact` decides those few in integers, `render` puts the four together for any positions.
`blocks`, `certify` and `tabulate` do the same for consecutive ones.
"""
