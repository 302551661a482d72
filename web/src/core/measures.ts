/** The three properties of a table of rows, measured: unique rows, a turn for each offset, distance alone. */

import { columnsOf, type Plan } from "./encoding"
import { sineCosine } from "./phase"

export interface Table {
  readonly values: Float64Array
  readonly rows: number
  readonly dim: number
}

export interface Nearest {
  readonly distance: number
  readonly pair: readonly [number, number]
}

/** A hair: pairs that are equally close but for rounding count as equal. */
const HAIR = 1e-9

/** The two rows that lie closest; the first such pair. */
export function nearest({ values, rows, dim }: Table): Nearest {
  let best = Infinity
  let pair: [number, number] = [0, 0]
  for (let p = 0; p < rows; p++) {
    for (let q = p + 1; q < rows; q++) {
      const limit = best * (1 - HAIR)
      let sum = 0
      for (let j = 0; j < dim && sum < limit; j++) {
        const apart = (values[p * dim + j] as number) - (values[q * dim + j] as number)
        sum += apart * apart
      }
      if (sum < limit) {
        best = sum
        pair = [p, q]
        if (best === 0) return { distance: 0, pair }
      }
    }
  }
  return { distance: Math.sqrt(best), pair }
}

/** How many different rows there are. */
export function distinct({ values, rows, dim }: Table): number {
  const seen = new Set<string>()
  for (let p = 0; p < rows; p++) seen.add(values.subarray(p * dim, (p + 1) * dim).join(" "))
  return seen.size
}

/** The largest |M_k PE(p) - PE(p + k)| over all p, where M_k turns each pair by k steps of the plan. */
export function turnResidual({ values, rows, dim }: Table, plan: Plan, offset: number): number {
  let most = 0
  for (let pair = 0; pair < plan.pairs; pair++) {
    const { sin, cos } = columnsOf(pair, plan)
    const [sine, cosine] = sineCosine(offset, plan.steps[pair] as (typeof plan.steps)[number])
    for (let p = 0; p + offset < rows; p++) {
      const at = (row: number, column: number | undefined): number =>
        column === undefined ? 0 : (values[row * dim + column] as number)
      const x = at(p, sin)
      const y = at(p, cos)
      if (sin !== undefined) most = Math.max(most, Math.abs(cosine * x + sine * y - at(p + offset, sin)))
      if (cos !== undefined) most = Math.max(most, Math.abs(cosine * y - sine * x - at(p + offset, cos)))
    }
  }
  return most
}

/** How far PE(p) . PE(p + k) spreads over p, at most, for the offsets up to half of the rows. */
export function similaritySpread({ values, rows, dim }: Table): { spread: number; offset: number } {
  let spread = 0
  let worst = 0
  for (let k = 0; k <= rows / 2; k++) {
    let low = Infinity
    let high = -Infinity
    for (let p = 0; p + k < rows; p++) {
      let sum = 0
      for (let j = 0; j < dim; j++) sum += (values[p * dim + j] as number) * (values[(p + k) * dim + j] as number)
      low = Math.min(low, sum)
      high = Math.max(high, sum)
    }
    if (high - low > spread) {
      spread = high - low
      worst = k
    }
  }
  return { spread, offset: worst }
}

/** The first k at which the similarity rises: K(k + 1) > K(k); undefined where it falls up to the end. */
export function firstRise(curve: readonly number[]): number | undefined {
  const found = curve.findIndex((value, k) => k + 1 < curve.length && (curve[k + 1] as number) > value + HAIR)
  return found < 0 ? undefined : found
}
