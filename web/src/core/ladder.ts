/** Ladders of frequencies as exact integer steps: 2^128 to the turn, one step for each pair of columns. */

import { BITS, expOfMinus, fromNumber, ln, ONE, PI } from "./fixed"

export const TURN_BITS = 128n
export const TURN = 1n << TURN_BITS

export interface Ladder {
  /** Turns per position, as integers, 2^128 to the turn. */
  readonly steps: readonly bigint[]
  /** Radians per position, rounded to doubles. */
  readonly speeds: readonly number[]
  /** Positions per turn, rounded to doubles. */
  readonly wavelengths: readonly number[]
}

/** The ladder base^(-k / span) for k = 0 .. pairs - 1; span is given as a fraction, twice its value. */
export function ladder(pairs: number, base: number, twiceSpan: number): Ladder {
  const perPair = (2n * ln(fromNumber(base))) / BigInt(twiceSpan)
  const steps: bigint[] = []
  const speeds: number[] = []
  const wavelengths: number[] = []
  for (let k = 0; k < pairs; k++) {
    const frequency = expOfMinus(perPair * BigInt(k))
    steps.push((frequency << TURN_BITS) / (2n * PI))
    speeds.push(toNumber(frequency))
    wavelengths.push(toNumber((2n * PI * ONE) / frequency))
  }
  return { steps, speeds, wavelengths }
}

/** Fixed point to the nearest double, to the last bit or two. */
function toNumber(value: bigint): number {
  const digits = value.toString(2).length
  const drop = BigInt(Math.max(0, digits - 64))
  return Number(value >> drop) * 2 ** Number(drop - BITS)
}
