/** Position times step, exactly, modulo one turn; and the sine and cosine of what is left. */

import { TURN, TURN_BITS } from "./ladder"

export type Position = number | bigint

const QUARTER_BITS = TURN_BITS - 2n
const HALF_OF_QUARTER = 1n << (QUARTER_BITS - 1n)
const LOW_BITS = TURN_BITS - 32n
const LOW_MASK = (1n << LOW_BITS) - 1n
/** Below this a position times 32 bits of a step is exact in a double. */
const SHORT = 2 ** 21

/** One step, cut so that short positions need no BigInt. */
export interface Step {
  readonly whole: bigint
  /** The upper 32 bits of the fraction of a turn, as an integer. */
  readonly high: number
  /** What is below them, in turns. */
  readonly low: number
}

export function cut(step: bigint): Step {
  const whole = ((step % TURN) + TURN) % TURN
  return {
    whole,
    high: Number(whole >> LOW_BITS),
    low: Number(whole & LOW_MASK) / 2 ** Number(TURN_BITS),
  }
}

/** [sine, cosine] of 2 pi * position * step; the position is an integer of any size. */
export function sineCosine(position: Position, step: Step): [number, number] {
  if (typeof position === "number") {
    if (!Number.isInteger(position)) throw new RangeError(`position ${position} is not an integer`)
    if (Math.abs(position) < SHORT) return shortPosition(position, step)
  }
  const phase = (((BigInt(position) * step.whole) % TURN) + TURN) % TURN
  const quarters = (phase + HALF_OF_QUARTER) >> QUARTER_BITS
  const rest = phase - (quarters << QUARTER_BITS)
  return turned(Number(quarters), Number(rest) / 2 ** Number(TURN_BITS))
}

function shortPosition(position: number, step: Step): [number, number] {
  const upper = ((position * step.high) % 2 ** 32) / 2 ** 32
  const lower = position * step.low
  const quarters = Math.round(4 * (upper + lower))
  // The difference of the upper parts is exact, so nothing is lost near a multiple of a quarter turn.
  return turned(quarters, upper - quarters / 4 + lower)
}

/** Sine and cosine of so many quarter turns and a rest of at most an eighth of a turn. */
function turned(quarters: number, rest: number): [number, number] {
  const sine = Math.sin(2 * Math.PI * rest)
  const cosine = Math.cos(2 * Math.PI * rest)
  switch (((quarters % 4) + 4) % 4) {
    case 0:
      return [sine, cosine]
    case 1:
      return [cosine, -sine]
    case 2:
      return [-sine, -cosine]
    default:
      return [-cosine, sine]
  }
}
