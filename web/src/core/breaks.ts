/** Ways to break the encoding, each with the table that it leaves and the turn that a reader expects of it. */

import { type Options, type Plan, plan, table } from "./encoding"
import { bfloat16, float16 } from "./half"
import type { Table } from "./measures"
import { sineCosine } from "./phase"

export const ROWS = 512
export const MAX_LEN = 256

export interface Broken {
  readonly table: Table
  /** What the table is taken for. */
  readonly plan: Plan
  /** The position of the first row. */
  readonly start: number
}

export interface Break {
  readonly id: string
  readonly title: string
  /** What is done to the encoding. */
  readonly does: string
  /** Why it matters, and what to do instead. */
  readonly lesson: string
  readonly make: (dim: number, base: number) => Broken
}

/** The width that is broken: even, since an odd one is itself a fault, and wide enough to have several pairs. */
export function brokenWidth(dim: number): number {
  return Math.max(8, dim - (dim % 2))
}

function whole(dim: number, options: Options, start = 0): Broken {
  const encodingPlan = plan(dim, options)
  return { table: { values: table(ROWS, encodingPlan, start), rows: ROWS, dim }, plan: encodingPlan, start }
}

/** The whole table with every value replaced. */
function changed(broken: Broken, value: (row: number, column: number, old: number) => number): Broken {
  const { values, rows, dim } = broken.table
  const replaced = values.map((old, index) => value(Math.floor(index / dim), index % dim, old))
  return { ...broken, table: { values: replaced, rows, dim } }
}

/** Rows whose positions went through a short format first. The values are then exact. */
function castPositions(broken: Broken, cast: (position: number) => number): Broken {
  return changed(broken, (row, column) => {
    const { pair, wave } = broken.plan.columns[column] as Plan["columns"][number]
    const waves = sineCosine(cast(broken.start + row), broken.plan.steps[pair] as Plan["steps"][number])
    return wave === "sin" ? waves[0] : waves[1]
  })
}

export const BREAKS: readonly Break[] = [
  {
    id: "none",
    title: "Nothing",
    does: "The paper's encoding as it is.",
    lesson: "All three properties hold, up to the rounding of double precision.",
    make: (dim, base) => whole(dim, { base }),
  },
  {
    id: "no-cosines",
    title: "Remove the cosines",
    does: "Every cosine is set to zero; the sines stay.",
    lesson:
      "A sine alone does not say whether the wave is rising or falling, so no matrix can carry it k positions on. " +
      "This is why the encoding has both.",
    make: (dim, base) => {
      const broken = whole(dim, { base })
      return changed(broken, (_, column, old) => (broken.plan.columns[column]?.wave === "cos" ? 0 : old))
    },
  },
  {
    id: "swapped-axes",
    title: "Swap the axes",
    does: "The table is indexed by the sentence's place in the batch, not by the word's place in the sentence: every word of the fourth sentence gets PE(3).",
    lesson:
      "Nothing crashes, and order is gone: all words of a sentence carry the same vector. " +
      "It happens when a layer wants (sequence, batch, d) and gets (batch, sequence, d).",
    make: (dim, base) => {
      const broken = whole(dim, { base })
      const row = broken.table.values.slice(3 * dim, 4 * dim)
      return changed(broken, (_, column) => row[column] as number)
    },
  },
  {
    id: "base-1",
    title: "Base 1",
    does: "Every pair turns at the same speed, one radian a position.",
    lesson:
      "The laws hold, but the table says one thing many times over, and nearly repeats wherever a whole number of positions " +
      "comes close to a whole number of turns: 44 positions are 7.003 turns, 333 are 52.9986, 710 are 113.00001.",
    make: (dim) => whole(dim, { base: 1 }),
  },
  {
    id: "base-10",
    title: "Base 10",
    does: "The slowest pair turns once in less than 63 positions, not once in tens of thousands.",
    lesson:
      "The laws hold for every base. What a larger base buys is reach: pairs so slow that they tell the far from the near.",
    make: (dim) => whole(dim, { base: 10 }),
  },
  {
    id: "odd-width",
    title: "An odd width",
    does: "A table that is one column narrower, computed as such: the exponents are 2i / (d \u2212 1) in the place of 2i / d, and the last sine has no cosine.",
    lesson:
      "The last pair cannot turn any more. It is also the slowest one, so in a wide table the damage is small, " +
      "but the law is broken: posenc encodes odd widths and refuses to shift them. The snippet that most people copy crashes on them.",
    make: (dim, base) => whole(dim - 1, { base }),
  },
  {
    id: "bfloat16-positions",
    title: "bfloat16 positions",
    does: "Positions 0 to 511 are rounded to bfloat16 before the formula; the rest is exact.",
    lesson:
      "bfloat16 holds whole numbers up to 256. Above, two neighbours become one number and get one row. " +
      "Models cast to half precision do this by accident: compute in full precision and round the values, once.",
    make: (dim, base) => castPositions(whole(dim, { base }), bfloat16),
  },
  {
    id: "float16-positions",
    title: "float16 positions",
    does: "Positions 1792 to 2303 are rounded to float16 before the formula; the rest is exact.",
    lesson: "float16 holds whole numbers up to 2048, so the first half of this window is sound and the second is not.",
    make: (dim, base) => castPositions(whole(dim, { base }, 1792), float16),
  },
  {
    id: "bfloat16-values",
    title: "bfloat16 values",
    does: "The exact table, each value rounded to bfloat16 at the very end.",
    lesson:
      "Compare this with bfloat16 positions: rounded last, an error stays as small as the rounding. " +
      "The laws hold to about two digits, and no two rows of a wide table merge.",
    make: (dim, base) => changed(whole(dim, { base }), (_row, _column, old) => bfloat16(old)),
  },
  {
    id: "halves",
    title: "Halves read as interleaved",
    does: "The table holds all sines first and then all cosines; its reader takes neighbours for a pair.",
    lesson:
      "The rows are as unique and as alike as before, since columns were only reordered. But two neighbours are no pair: " +
      "a checkpoint written in one layout and read in the other loads without an error, and its turns are nonsense.",
    make: (dim, base) => {
      const { values } = whole(dim, { base, layout: "halves" }).table
      const read = whole(dim, { base })
      return { ...read, table: { values, rows: ROWS, dim } }
    },
  },
  {
    id: "max-len",
    title: "Beyond max_len",
    does: `A table of ${MAX_LEN} rows is asked for ${ROWS}, and a careless layer repeats its last row.`,
    lesson:
      "A layer that looks rows up has only so many. The honest ones raise an error; those that clamp the index give all later words one place. " +
      "A sinusoid needs no table: posenc computes the rows beyond it.",
    make: (dim, base) => {
      const broken = whole(dim, { base })
      const { values } = broken.table
      return changed(broken, (row, column) => values[Math.min(row, MAX_LEN - 1) * dim + column] as number)
    },
  },
]

export function breakNamed(id: string): Break {
  return BREAKS.find((candidate) => candidate.id === id) ?? (BREAKS[0] as Break)
}
