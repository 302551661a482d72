/** M_k, the matrix that takes PE(p) to PE(p + k) for every p, in the column order of the convention. */

import { columnsOf, type Plan } from "./encoding"
import { sineCosine } from "./phase"

export interface Block {
  readonly pair: number
  /** Columns of the sine and the cosine of this pair. */
  readonly sin: number
  readonly cos: number
  readonly cosine: number
  readonly sine: number
}

/** The turn of each pair by k positions; an odd width has no M_k. */
export function blocks(offset: number, plan: Plan): Block[] {
  return plan.steps.map((step, pair) => {
    const { sin, cos } = columnsOf(pair, plan)
    if (sin === undefined || cos === undefined) throw new RangeError(`an odd width, ${plan.dim}, has no M_k`)
    const [sine, cosine] = sineCosine(offset, step)
    return { pair, sin, cos, sine, cosine }
  })
}

/** dim x dim values, row after row. */
export function shiftMatrix(offset: number, plan: Plan): Float64Array {
  const matrix = new Float64Array(plan.dim * plan.dim)
  for (const { sin, cos, sine, cosine } of blocks(offset, plan)) {
    matrix[sin * plan.dim + sin] = cosine
    matrix[sin * plan.dim + cos] = sine
    matrix[cos * plan.dim + sin] = -sine
    matrix[cos * plan.dim + cos] = cosine
  }
  return matrix
}

/** Rotary's own step: each pair (x, y) of a vector is turned by position * step. */
export function rotate(vector: Float64Array, position: number, plan: Plan): Float64Array {
  const turned = Float64Array.from(vector)
  plan.steps.forEach((step, pair) => {
    const [sine, cosine] = sineCosine(position, step)
    const x = vector[2 * pair] as number
    const y = vector[2 * pair + 1] as number
    turned[2 * pair] = x * cosine - y * sine
    turned[2 * pair + 1] = x * sine + y * cosine
  })
  return turned
}

export function dot(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, value, j) => sum + value * (b[j] as number), 0)
}
