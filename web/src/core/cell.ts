/** One cell of the table in words: the formula with its numbers in. */

import { encode, type Options, type Plan, plan } from "./encoding"

/** The exponent of a pair as a fraction: "6/64" where the paper's ladder is used, "3/31" else. */
export function exponentText(pair: number, encodingPlan: Plan): string {
  return encodingPlan.convention.endpointShift === 1
    ? `${pair}/${encodingPlan.span}`
    : `${2 * pair}/${encodingPlan.convention.odd === "pad" ? 2 * encodingPlan.span : encodingPlan.dim}`
}

/** A position as it enters the formula: "6", or "(6 + 2)" where the convention adds something. */
export function positionText(position: number, encodingPlan: Plan): string {
  const offset = encodingPlan.convention.positionOffset
  return offset === 0 ? `${position}` : `(${position} + ${offset})`
}

/**
 * "position 6, dimension 1: cos(6 / 10000^(0/64)) = 0.960170"; plain ASCII, so that programs read it too.
 */
export function cellText(position: number, column: number, dim: number, options: Options = {}): string {
  const encodingPlan = plan(dim, options)
  const place = encodingPlan.columns[column]
  if (place === undefined) throw new RangeError(`column ${column} of ${dim}`)
  const where = `position ${position}, dimension ${column}: `
  if (place.wave === "zero") return `${where}0, which pads the odd width`
  const value = encode(position, dim, options)[column] as number
  const angle = `${positionText(position, encodingPlan)} / ${encodingPlan.base}^(${exponentText(place.pair, encodingPlan)})`
  return `${where}${place.wave}(${angle}) = ${value.toFixed(6)}`
}
