/** Rounding to the short floating-point formats, ties to even. */

/** The nearest number with so many bits of significand and that smallest exponent. */
function rounded(value: number, bits: number, smallestExponent: number): number {
  if (value === 0 || !Number.isFinite(value)) return value
  const exponent = Math.max(Math.floor(Math.log2(Math.abs(value))), smallestExponent)
  const unit = 2 ** (exponent - bits + 1)
  const whole = Math.floor(value / unit)
  const rest = value / unit - whole
  const up = rest > 0.5 || (rest === 0.5 && whole % 2 !== 0)
  return (up ? whole + 1 : whole) * unit
}

/** bfloat16 holds 8 bits: whole numbers are exact up to 256. */
export function bfloat16(value: number): number {
  return rounded(value, 8, -126)
}

/** float16 holds 11 bits: whole numbers are exact up to 2048. (Its overflow is not needed here.) */
export function float16(value: number): number {
  return rounded(value, 11, -14)
}
