/** Pi, logarithms and exponentials in BigInt fixed point, 192 bits behind the point. */

export const BITS = 192n
export const ONE = 1n << BITS

/** arctan(1/n) by its series, which ends where the terms vanish. */
function arctanOfInverse(n: bigint): bigint {
  let term = ONE / n
  let total = term
  for (let k = 3n, sign = -1n; term !== 0n; k += 2n, sign = -sign) {
    term /= n * n
    total += (sign * term) / k
  }
  return total
}

/** Machin, 1706: pi = 16 arctan(1/5) - 4 arctan(1/239). */
export const PI = 16n * arctanOfInverse(5n) - 4n * arctanOfInverse(239n)

/** A finite double as fixed point; exact for every double from 2^-100 to 2^1000. */
export function fromNumber(value: number): bigint {
  let scaled = value
  let shift = 0n
  while (!Number.isInteger(scaled)) {
    scaled *= 2
    shift += 1n
  }
  return (BigInt(scaled) << BITS) >> shift
}

/** 2 artanh(t) for |t| <= 1/3, so that ln(m) = 2 artanh((m - 1) / (m + 1)). */
function twiceArtanh(t: bigint): bigint {
  const square = (t * t) >> BITS
  let term = t
  let total = 0n
  for (let k = 1n; term !== 0n && term !== -1n; k += 2n) {
    total += term / k
    term = (term * square) >> BITS
  }
  return 2n * total
}

const LN2 = twiceArtanh(ONE / 3n)

/** The natural logarithm of a positive fixed-point number. */
export function ln(value: bigint): bigint {
  let mantissa = value
  let doublings = 0n
  while (mantissa >= 2n * ONE) {
    mantissa >>= 1n
    doublings += 1n
  }
  while (mantissa < ONE) {
    mantissa <<= 1n
    doublings -= 1n
  }
  return doublings * LN2 + twiceArtanh(((mantissa - ONE) << BITS) / (mantissa + ONE))
}

/** exp(-value) for a fixed-point number that is not negative. */
export function expOfMinus(value: bigint): bigint {
  const halvings = value / LN2
  const rest = value - halvings * LN2
  let term = ONE
  let total = 0n
  for (let k = 1n; term !== 0n && term !== -1n; k += 1n) {
    total += term
    term = -((term * rest) >> BITS) / k
  }
  return total >> halvings
}
