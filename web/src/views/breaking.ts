/** The switches that break the encoding, and what is measured on the spot. */

import { BREAKS, breakNamed, evenWidth, ROWS, type Broken } from "../core/breaks"
import { distinct, nearest, similaritySpread, turnResidual } from "../core/measures"
import { grouped, short } from "../core/numbers"
import type { State } from "../core/state"
import { paint } from "./colour"
import { byId, el, row } from "./dom"
import type { Store, View } from "./view"

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
      choices.forEach(({ input }) => (input.checked = input.value === state.break))
      draw(state)
    },
  }
}

function draw(state: State): void {
  const chosen = breakNamed(state.break)
  const width = evenWidth(state.dim)
  const broken = chosen.make(width, state.base)
  const sound = breakNamed("none").make(width, state.base)
  picture("break-sound", broken.start === 0 ? sound.table : undefined, state, broken)
  picture("break-broken", broken.table, state, broken)
  const last = broken.start + ROWS - 1
  byId("break-broken-caption").textContent = `${chosen.id === "none" ? "nothing broken" : chosen.title.toLowerCase()}: positions ${broken.start} to ${last}`
  byId("break-does").textContent = chosen.does
  byId("break-lesson").textContent = chosen.lesson
  const verdicts = measure(broken)
  byId("break-measured").replaceChildren(
    ...verdicts.map(({ name, measured, state: how, word }) => row(name, measured, el("span", { class: `is-${how}` }, word))),
  )
  const fallen = verdicts.filter((verdict) => verdict.state === "falls").map(({ name }) => name.toLowerCase())
  byId("break-status").textContent =
    `${chosen.title}, width ${broken.table.dim}: ` +
    (fallen.length === 0 ? "no law falls." : `${fallen.join(" and ")} ${fallen.length === 1 ? "falls" : "fall"}.`)
}

function picture(id: string, table: Broken["table"] | undefined, state: State, broken: Broken): void {
  const canvas = byId(id, HTMLCanvasElement)
  const shown = table ?? breakNamed("none").make(evenWidth(state.dim), state.base).table
  paint(canvas, { columns: shown.dim, rows: shown.rows, value: (y, x) => shown.values[y * shown.dim + x] as number }, state.colours)
  const which = id === "break-sound" ? "The sound table" : "The broken table"
  canvas.setAttribute("aria-label", `${which}: ${shown.rows} positions from ${id === "break-sound" ? 0 : broken.start} by ${shown.dim} dimensions`)
}

function measure({ table, plan, start }: Broken): Verdict[] {
  const kinds = distinct(table)
  const closest = nearest(table)
  const [p, q] = [closest.pair[0] + start, closest.pair[1] + start]
  const neighbours = closest.pair[1] - closest.pair[0] === 1
  const residual = turnResidual(table, plan, 1)
  const { spread, offset } = similaritySpread(table)
  return [
    {
      name: "Every row is unique",
      measured:
        `${grouped(kinds)} different rows of ${table.rows}. ` +
        (closest.distance === 0
          ? `Rows ${grouped(p)} and ${grouped(q)} are equal.`
          : `The closest two, ${grouped(p)} and ${grouped(q)}, are ${short(closest.distance)} apart.`),
      state: kinds < table.rows ? "falls" : neighbours ? "holds" : "weak",
      word: kinds < table.rows ? "falls" : neighbours ? "holds" : "holds, but rows far apart look most alike",
    },
    {
      name: "A step is a turn",
      measured: `M for k = 1 misses the next row by up to ${short(residual)}.`,
      ...lawful(residual, rounding(4)),
    },
    {
      name: "Distance alone counts",
      measured:
        spread <= rounding(table.dim)
          ? `At one distance, products differ by at most ${short(spread)}.`
          : `At distance ${offset}, products differ by up to ${short(spread)} from place to place.`,
      ...lawful(spread, rounding(table.dim)),
    },
  ]
}

function lawful(value: number, limit: number): Pick<Verdict, "state" | "word"> {
  return value <= limit ? { state: "holds", word: "holds, to rounding" } : { state: "falls", word: "falls" }
}
