"""Numbers as float64 makes them: an interval for what is true, and a bound for what they are off by."""

from mpmath.ctx_iv import MPIntervalContext

IV = MPIntervalContext()
IV.prec = 160
# Half a unit in the last place of float64, relatively: what one sum or one product adds.
U = IV.mpf(2) ** -53


def top(interval):
    """The upper end."""
    return IV.mpf(interval.b)


class Rounded:
    """A number within error * x^power of true * x^power, for each x > 0 whose square lies in an interval.

    power is 0 or 1. With it apart, an odd function keeps its relative error down to x = 0.
    """

    def __init__(self, squares, true, error=0, power=0):
        self.squares, self.true, self.error, self.power = squares, IV.mpf(true), top(IV.mpf(error)), power

    @classmethod
    def constant(cls, squares, number: float, true):
        """A float64 that is written for a number."""
        return cls(squares, true, abs(IV.mpf(number) - true))

    def _of(self, other):
        return other if isinstance(other, Rounded) else Rounded(self.squares, other)

    def _made(self, true, error, power):
        # What was computed is rounded, not what is true.
        return Rounded(self.squares, true, error + U * (abs(true) + error), power)

    def __add__(self, other):
        other = self._of(other)
        assert self.power == other.power
        return self._made(self.true + other.true, self.error + other.error, self.power)

    def __mul__(self, other):
        other = self._of(other)
        true, power = self.true * other.true, self.power + other.power
        error = abs(self.true) * other.error + abs(other.true) * self.error + self.error * other.error
        return (
            self._made(true * self.squares, error * self.squares, 0) if power == 2 else self._made(true, error, power)
        )

    __radd__, __rmul__ = __add__, __mul__

    def relative(self, more=0):
        """The largest relative error, after some more of it."""
        return top((self.error + more) / abs(self.true).a)

    def absolute(self, more=0):
        """The largest error, after some more of it."""
        return top((self.error + more) * (IV.sqrt(self.squares) if self.power else 1))
