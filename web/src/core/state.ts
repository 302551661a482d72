/** What the reader has set, kept within its limits, and written into the address so that it can be shared. */

import { BREAKS } from "./breaks"
import { CONVENTIONS } from "./conventions"
import { type Plan, plan } from "./encoding"

export interface State {
  readonly sentences: readonly [string, string]
  readonly dim: number
  readonly length: number
  readonly base: number
  readonly convention: string
  readonly position: number
  readonly dimension: number
  readonly offset: number
  readonly break: string
  readonly colours: string
}

export const LENGTHS = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192] as const
export const DIMS = [2, 4, 8, 16, 32, 64, 128, 256, 512] as const
export const BASES = [1, 2, 10, 100, 500, 1000, 10000, 100000, 500000, 1000000] as const
export const COLOURS = ["cividis", "red-blue"] as const
export const MOST_BASE = 1e12
export const MOST_OFFSET = 256
export const MOST_CHARACTERS = 8000

export const DEFAULT: State = {
  sentences: ["man bites dog", "dog bites man"],
  dim: 64,
  length: 64,
  base: 10000,
  convention: "transformer",
  position: 6,
  dimension: 1,
  offset: 3,
  break: "no-cosines",
  colours: "cividis",
}

/** A number within limits; what is no number becomes the default. */
function within(value: unknown, low: number, high: number, otherwise: number): number {
  const isWritten = typeof value === "number" || (typeof value === "string" && value.trim() !== "")
  const number = isWritten ? Number(value) : NaN
  return Number.isNaN(number) ? otherwise : Math.min(high, Math.max(low, number))
}

function whole(value: unknown, low: number, high: number, otherwise: number): number {
  return Math.round(within(value, low, high, otherwise))
}

function known(value: unknown, names: readonly string[], otherwise: string): string {
  return typeof value === "string" && names.includes(value) ? value : otherwise
}

function sentences(value: unknown): [string, string] {
  const given = Array.isArray(value) ? value : []
  const [first, second] = DEFAULT.sentences.map((otherwise, i) =>
    typeof given[i] === "string" ? (given[i] as string).slice(0, MOST_CHARACTERS) : otherwise,
  ) as [string, string]
  return [first, second]
}

/** Anything that came from outside, made into a state that every view can draw. */
export function cleaned(given: Readonly<Record<string, unknown>>): State {
  const dim = whole(given["dim"], 2, 512, DEFAULT.dim)
  const length = whole(given["length"], 2, 8192, DEFAULT.length)
  const even = dim - (dim % 2)
  return {
    sentences: sentences(given["sentences"]),
    dim: even,
    length,
    base: within(given["base"], 1, MOST_BASE, DEFAULT.base),
    convention: known(
      given["convention"],
      CONVENTIONS.map((convention) => convention.name),
      DEFAULT.convention,
    ),
    position: Math.min(whole(given["position"], 0, 8191, DEFAULT.position), length - 1),
    dimension: Math.min(whole(given["dimension"], 0, 511, DEFAULT.dimension), even - 1),
    offset: whole(given["offset"], -MOST_OFFSET, MOST_OFFSET, DEFAULT.offset),
    break: known(
      given["break"],
      BREAKS.map((candidate) => candidate.id),
      DEFAULT.break,
    ),
    colours: known(given["colours"], COLOURS, DEFAULT.colours),
  }
}

/** "dim=512&position=20": only what differs from `from`, in a fixed order. */
export function toFragment(state: State, from: State = DEFAULT): string {
  const fields = new URLSearchParams()
  for (const key of Object.keys(DEFAULT) as (keyof State)[]) {
    if (key === "sentences") {
      if (state.sentences.some((sentence, i) => sentence !== from.sentences[i])) {
        for (const sentence of state.sentences) fields.append("sentences", sentence)
      }
    } else if (state[key] !== from[key]) {
      fields.set(key, String(state[key]))
    }
  }
  return fields.toString()
}

/** The fields that an address holds; "#order", a mere place in the page, holds none. */
export function fromFragment(fragment: string): Record<string, unknown> {
  const text = fragment.replace(/^#/, "")
  if (!text.includes("=")) return {}
  const fields = new URLSearchParams(text)
  const given: Record<string, unknown> = Object.fromEntries(fields)
  if (fields.has("sentences")) given["sentences"] = fields.getAll("sentences")
  return given
}

/** The encoding that the settings describe. */
export function planOf(state: State): Plan {
  return plan(state.dim, { base: state.base, convention: state.convention })
}
