/** The switches that break the encoding, and what is measured on the spot. */

import { BREAKS, type Broken, breakNamed, brokenWidth, ROWS } from "../core/breaks"
import { plan, table } from "../core/encoding"
import { distinct, nearest, similaritySpread, turnResidual } from "../core/measures"
import { counted, grouped, short } from "../core/numbers"
import type { State } from "../core/state"
import { paint } from "./colour"
import { byId, el, row } from "./dom"
import type { Store, View } from "./view"

/** The rows that are drawn: the middle, where short formats and a short table begin to fail. */
const WINDOW_START = 208
const WINDOW = 96
const MOST_DIMENSIONS = 64
const ROUGHLY = 0.01

interface Verdict {
  readonly name: string
  readonly measured: string
  readonly state: "holds" | "weak" | "falls"
  readonly word: string
}

/** Rounding of sums of `terms` products of numbers of size one, with room. */
function rounding(terms: number): number {
  return terms * terms * 2 ** -50
}

export function breakingView(store: Store): View {
  const choices = BREAKS.map(({ id, title }) => {
    const input = el("input", { type: "radio", name: "break", value: id, id: `break-${id}` })
    input.addEventListener("change", () => store.set({ break: id }))
    return { input, line: el("label", { for: `break-${id}`, class: "choice" }, input, title) }
  })
  byId("break-choices").append(...choices.map(({ line }) => line))
  return {
    keys: ["break", "dim", "base", "colours"],
    draw: (state) => {
      for (const { input } of choices) input.checked = input.value === state.break
      draw(state)
    },
  }
}

function draw(state: State): void {
  const chosen = breakNamed(state.break)
  const dim = brokenWidth(state.dim)
  const broken = chosen.make(dim, state.base)
  const first = broken.start + WINDOW_START
  const width = Math.min(MOST_DIMENSIONS, dim)
  const sound = table(WINDOW, plan(dim, { base: state.base }), first)
  picture("break-sound", state, width, (y, x) => sound[y * dim + x] as number)
  picture("break-broken", state, width, (y, x) => {
    if (x >= broken.table.dim) return NaN
    return broken.table.values[(y + WINDOW_START) * broken.table.dim + x] as number
  })
  const part =
    `positions ${grouped(first)} to ${grouped(first + WINDOW - 1)}` +
    (width < dim ? `, the first ${width} dimensions` : "")
  byId("break-sound-caption").textContent = `Sound: ${part}.`
  byId("break-broken-caption").textContent =
    `${chosen.id === "none" ? "Nothing broken" : `Broken (${chosen.title})`}: the same part.` +
    (broken.table.dim < width ? " The hatched column is not there." : "")
  byId("break-does").textContent = chosen.does
  byId("break-lesson").textContent = chosen.lesson
  const verdicts = measure(broken)
  byId("break-measured").replaceChildren(
    ...verdicts.map(({ name, measured, state: how, word }) =>
      row(name, measured, el("span", { class: `is-${how}` }, word)),
    ),
  )
  byId("break-status").textContent =
    `${chosen.title}, measured on positions ${grouped(broken.start)} to ${grouped(broken.start + ROWS - 1)} ` +
    `at width ${broken.table.dim}: ${summary(verdicts)}.`
}

/** "“A step is a turn” falls; “Distance alone counts” holds only roughly" */
function summary(verdicts: readonly Verdict[]): string {
  const named = (state: Verdict["state"], one: string, more: string): string[] => {
    const names = verdicts.filter((verdict) => verdict.state === state).map(({ name }) => `“${name}”`)
    const list = names.length < 3 ? names.join(" and ") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`
    return names.length === 0 ? [] : [`${list} ${names.length === 1 ? one : more}`]
  }
  const said = [...named("falls", "falls", "fall"), ...named("weak", "holds with a flaw", "hold with a flaw")]
  return said.length === 0 ? "nothing falls" : said.join("; ")
}

function picture(id: string, state: State, columns: number, value: (row: number, column: number) => number): void {
  const canvas = byId(id, HTMLCanvasElement)
  paint(canvas, { columns, rows: WINDOW, value }, state.colours)
  canvas.setAttribute(
    "aria-label",
    `${id === "break-sound" ? "The sound" : "The broken"} table, ${WINDOW} positions by ${columns} dimensions`,
  )
}

function measure({ table: rows, plan: made, start }: Broken): Verdict[] {
  const kinds = distinct(rows)
  const closest = nearest(rows)
  const [p, q] = [closest.pair[0] + start, closest.pair[1] + start]
  const neighbours = closest.pair[1] - closest.pair[0] === 1
  const residual = turnResidual(rows, made, 1)
  const { spread, offset } = similaritySpread(rows)
  return [
    {
      name: "Every row is unique",
      measured:
        `${counted(kinds, "different row")} of ${rows.rows}. ` +
        (closest.distance === 0
          ? `Rows ${grouped(p)} and ${grouped(q)} are equal.`
          : `The closest two, ${grouped(p)} and ${grouped(q)}, are ${short(closest.distance)} apart.`),
      state: kinds < rows.rows ? "falls" : neighbours ? "holds" : "weak",
      word: kinds < rows.rows ? "falls" : neighbours ? "holds" : "holds, but rows far apart look most alike",
    },
    {
      name: "A step is a turn",
      measured: `M for k = 1 misses the next row by up to ${short(residual)}.`,
      ...lawful(residual, rounding(4), 1),
    },
    {
      name: "Distance alone counts",
      measured:
        spread <= rounding(rows.dim)
          ? `At one distance, products differ by at most ${short(spread)}.`
          : `At distance ${offset}, products differ by up to ${short(spread)} from place to place.`,
      ...lawful(spread, rounding(rows.dim), rows.dim / 2),
    },
  ]
}

/** A law holds to rounding, or to a hundredth of what is at stake, or not. */
function lawful(value: number, limit: number, size: number): Pick<Verdict, "state" | "word"> {
  if (value <= limit) return { state: "holds", word: "holds, to rounding" }
  if (value <= ROUGHLY * size) return { state: "weak", word: "holds only roughly" }
  return { state: "falls", word: "falls" }
}
