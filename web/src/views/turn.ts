/** M_k as a picture, and the turn of one pair with its numbers in. */

import { columnsOf, encode, evenly } from "../core/encoding"
import { type Block, blocks, shiftMatrix } from "../core/matrix"
import { fixed, grouped, short } from "../core/numbers"
import { planOf, type State } from "../core/state"
import { paint } from "./colour"
import { byId, el, headings, mathml, row } from "./dom"
import { ENCODING, type View } from "./view"

const DIGITS = 4

export function turnView(): View {
  return { keys: [...ENCODING, "position", "dimension", "offset", "colours"], draw }
}

function draw(state: State): void {
  const made = planOf(state)
  const canvas = byId("turn-canvas", HTMLCanvasElement)
  const matrix = shiftMatrix(state.offset, made)
  paint(
    canvas,
    { columns: made.dim, rows: made.dim, value: (y, x) => matrix[y * made.dim + x] as number },
    state.colours,
  )
  canvas.setAttribute(
    "aria-label",
    `M for offset ${state.offset}: ${made.pairs} turns of two columns each, zero elsewhere`,
  )
  byId("turn-matrix-caption").textContent =
    `M for k = ${fixed(state.offset, 0)}: ${made.dim} × ${made.dim} numbers, of which at most ${4 * made.pairs} are not zero. ` +
    "Each pair of columns turns on its own, by its own angle."
  const pair = made.columns[state.dimension]?.pair ?? 0
  const all = blocks(state.offset, made)
  const block = all[pair] as Block
  drawTable(state, all, made.ladder.speeds)
  const { sin, cos } = columnsOf(pair, made) as { sin: number; cos: number }
  const [from, to] = [encode(state.position, state.dim, state), encode(state.position + state.offset, state.dim, state)]
  const degrees = (180 / Math.PI) * (made.ladder.speeds[pair] as number) * state.offset
  byId("turn-pair").textContent =
    `Pair ${pair} (dimensions ${sin} and ${cos}), from position ${grouped(state.position)} to ${grouped(state.position + state.offset)}: ` +
    `a turn by ${Math.abs(degrees) < 1e-3 ? short(degrees) : fixed(degrees, 2)} degrees.`
  byId("turn-formula").replaceChildren(
    equation(
      [[to[sin] as number], [to[cos] as number]],
      [
        [block.cosine, block.sine],
        [-block.sine, block.cosine],
      ],
      [[from[sin] as number], [from[cos] as number]],
    ),
  )
  let worst = 0
  for (let y = 0; y < made.dim; y++) {
    let sum = 0
    for (let x = 0; x < made.dim; x++) sum += (matrix[y * made.dim + x] as number) * (from[x] as number)
    worst = Math.max(worst, Math.abs(sum - (to[y] as number)))
  }
  byId("turn-status").textContent =
    `M times row ${grouped(state.position)} is row ${grouped(state.position + state.offset)} in all ${made.dim} dimensions: ` +
    (worst === 0 ? "equal to the last digit." : `the largest difference is ${short(worst)}, which is rounding.`)
}

/** In parts, which break into lines where the window is narrow. */
function equation(left: number[][], turn: number[][], right: number[][]): Element {
  return el(
    "div",
    { class: "equation" },
    mathml("math", bracketed(left)),
    mathml("math", operator("="), bracketed(turn)),
    mathml("math", bracketed(right)),
  )
}

/** Some pairs from fast to slow: by how much each turns. */
function drawTable(state: State, all: readonly Block[], speeds: readonly number[]): void {
  const chosen = evenly(5, all.length)
  byId("turn-table").replaceChildren(
    headings("pair", "degrees", "cos", "sin"),
    el(
      "tbody",
      {},
      ...chosen.map((pair) => {
        const { cosine, sine } = all[pair] as Block
        const degrees = (180 / Math.PI) * (speeds[pair] as number) * state.offset
        return row(String(pair), short(degrees), fixed(cosine, DIGITS), fixed(sine, DIGITS))
      }),
    ),
  )
}

/** Spaced as between two members, though it begins a part. */
function operator(sign: string): Element {
  const made = mathml("mo", sign)
  made.setAttribute("form", "infix")
  return made
}

function bracketed(rows: readonly (readonly number[])[]): Element {
  const cells = rows.map((values) =>
    mathml("mtr", ...values.map((value) => mathml("mtd", mathml("mn", fixed(value, DIGITS))))),
  )
  const table = mathml("mtable", ...cells)
  table.setAttribute("class", "bracketed")
  return table
}
