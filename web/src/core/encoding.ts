/** Rows of the encoding in any convention, and which column holds which wave. */

import { type Convention, conventionNamed, type Layout } from "./conventions"
import { type Ladder, ladder } from "./ladder"
import { cut, type Position, type Step, sineCosine } from "./phase"

export interface Options {
  readonly convention?: string
  readonly base?: number
  readonly layout?: Layout
}

export interface Column {
  readonly pair: number
  readonly wave: "sin" | "cos" | "zero"
}

/** Everything that is fixed before a position is known. */
export interface Plan {
  readonly dim: number
  readonly base: number
  readonly convention: Convention
  readonly pairs: number
  /** The exponent of pair k is k / span. */
  readonly span: number
  readonly ladder: Ladder
  readonly steps: readonly Step[]
  readonly columns: readonly Column[]
}

const plans = new Map<string, Plan>()
const MOST_PLANS = 64

/** The plan of an encoding of that width; kept, since a ladder costs more than a row. */
export function plan(dim: number, options: Options = {}): Plan {
  const named = conventionNamed(options.convention ?? "transformer")
  const convention = options.layout === undefined ? named : { ...named, layout: options.layout }
  const base = options.base ?? 10000
  const key = [dim, base, convention.name, convention.layout].join(" ")
  const kept = plans.get(key)
  if (kept !== undefined) return kept
  if (plans.size >= MOST_PLANS) plans.clear()
  const made = makePlan(dim, base, convention)
  plans.set(key, made)
  return made
}

function makePlan(dim: number, base: number, convention: Convention): Plan {
  if (!Number.isInteger(dim) || dim < 1) throw new RangeError(`dim ${dim} is not a whole number above zero`)
  if (!(base >= 1 && base <= 1e12)) throw new RangeError(`base ${base} is not between 1 and 1e12`)
  const isOdd = dim % 2 === 1
  if (isOdd && convention.odd === "refuse") throw new RangeError(`${convention.name} has even widths only, not ${dim}`)
  const padded = isOdd && convention.odd === "pad"
  const pairs = padded ? (dim - 1) / 2 : Math.ceil(dim / 2)
  const width = padded ? dim - 1 : dim
  const twiceSpan = convention.endpointShift === 1 ? Math.max(2 * (Math.floor(width / 2) - 1), 2) : Math.max(width, 1)
  const rungs = ladder(pairs, base, twiceSpan)
  return {
    dim,
    base,
    convention,
    pairs,
    span: twiceSpan / 2,
    ladder: rungs,
    steps: rungs.steps.map(cut),
    columns: placeColumns(dim, pairs, convention),
  }
}

function placeColumns(dim: number, pairs: number, convention: Convention): Column[] {
  const [first, second] = convention.order === "sine-first" ? (["sin", "cos"] as const) : (["cos", "sin"] as const)
  const placed: Column[] = []
  for (let column = 0; column < dim; column++) {
    const isFirst = convention.layout === "interleaved" ? column % 2 === 0 : column < pairs
    const pair = convention.layout === "interleaved" ? Math.floor(column / 2) : column % pairs
    placed.push(column >= 2 * pairs ? { pair: 0, wave: "zero" } : { pair, wave: isFirst ? first : second })
  }
  return placed
}

function moved(position: Position, offset: number): Position {
  if (offset === 0) return position
  return typeof position === "bigint" ? position + BigInt(offset) : position + offset
}

/** Writes one row into `out`, which has room for dim values from `start` on. */
export function writeRow(position: Position, encodingPlan: Plan, out: Float64Array, start = 0): void {
  const { columns, steps, convention } = encodingPlan
  const at = moved(position, convention.positionOffset)
  const waves = steps.map((step) => sineCosine(at, step))
  columns.forEach(({ pair, wave }, column) => {
    const [sine, cosine] = waves[pair] as [number, number]
    out[start + column] = wave === "sin" ? sine : wave === "cos" ? cosine : 0
  })
}

/** PE(position), dim numbers. */
export function encode(position: Position, dim: number, options: Options = {}): number[] {
  const row = new Float64Array(dim)
  writeRow(position, plan(dim, options), row)
  return Array.from(row)
}

/** Rows of the positions start, start + stride, ..: count x dim values, row after row. */
export function table(count: number, encodingPlan: Plan, start = 0, stride = 1): Float64Array {
  const values = new Float64Array(count * encodingPlan.dim)
  for (let row = 0; row < count; row++) {
    writeRow(start + row * stride, encodingPlan, values, row * encodingPlan.dim)
  }
  return values
}

/** PE(p) . PE(p + k), whatever p: the sum of cos(frequency * k) over the pairs. */
export function similarity(offset: number, encodingPlan: Plan): number {
  let sum = 0
  for (const step of encodingPlan.steps) sum += sineCosine(offset, step)[1]
  return sum
}

/** The two columns of a pair, sine and cosine; undefined where an odd width leaves one out. */
export function columnsOf(pair: number, encodingPlan: Plan): { sin?: number; cos?: number } {
  const found: { sin?: number; cos?: number } = {}
  encodingPlan.columns.forEach((column, index) => {
    if (column.pair === pair && column.wave !== "zero") found[column.wave] = index
  })
  return found
}

/** At most `most` of the numbers 0 to count - 1, evenly spread from the first to the last. */
export function evenly(most: number, count: number): number[] {
  const drawn = Math.min(most, count)
  return Array.from({ length: drawn }, (_, i) => (drawn === 1 ? 0 : Math.round((i * (count - 1)) / (drawn - 1))))
}
