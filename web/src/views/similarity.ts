/** The dot product of two rows against their distance, with the first place where it rises again. */

import { encode, similarity } from "../core/encoding"
import { firstRise } from "../core/measures"
import { fixed, grouped, short } from "../core/numbers"
import { planOf, type State } from "../core/state"
import { chart, isNarrow, Plot } from "./chart"
import { byId } from "./dom"
import { ENCODING, type View } from "./view"

const MOST_OFFSETS = 1024
const LEAST_OFFSETS = 64

export function similarityView(): View {
  return { keys: [...ENCODING, "length", "position", "offset"], draw }
}

function draw(state: State): void {
  const made = planOf(state)
  const count = Math.min(MOST_OFFSETS, Math.max(LEAST_OFFSETS, state.length))
  const curve = Array.from({ length: count }, (_, k) => similarity(k, made))
  const rise = firstRise(curve)
  const top = made.pairs
  const into = byId("similarity-chart")
  const offset = Math.abs(state.offset)
  const points = curve.map((value, k) => ({ k, value }))
  const here = points[offset]
  const label =
    rise === undefined ? [] : [{ k: rise, value: curve[rise] as number, text: `first rise, after k = ${rise}` }]
  const lowest = Math.min(0, ...curve)
  chart(into, `Similarity against distance from 0 to ${count - 1}`, {
    height: isNarrow(into) ? 260 : 340,
    marginLeft: 44,
    marginTop: 28,
    marginBottom: 42,
    x: { label: "distance k", tickFormat: (d: number) => grouped(d) },
    y: { label: "PE(p) · PE(p + k)", domain: [lowest * 1.1, top * 1.06], grid: true },
    marks: [
      Plot.ruleY([0]),
      Plot.line(points, { x: "k", y: "value", stroke: "var(--c1)", strokeWidth: 1.8 }),
      ...(count <= 130 ? [Plot.dot(points, { x: "k", y: "value", fill: "var(--c1)", r: 2.2 })] : []),
      Plot.dot(label, { x: "k", y: "value", stroke: "var(--mark)", strokeWidth: 2.5, r: 7 }),
      Plot.text(label, {
        x: "k",
        y: "value",
        text: "text",
        fill: "var(--mark)",
        fontWeight: 600,
        fontSize: 13,
        textAnchor: "start",
        dx: 10,
        dy: -18,
      }),
      ...(here === undefined
        ? []
        : [Plot.ruleX([here], { x: "k", y1: 0, y2: "value", stroke: "var(--c2)", strokeDasharray: "3 3" })]),
      ...(here === undefined
        ? []
        : [Plot.dot([here], { x: "k", y: "value", fill: "var(--c2)", r: 5, symbol: "square" })]),
    ],
  })
  const rises =
    rise === undefined
      ? `It falls all the way to distance ${count - 1}.`
      : `It falls from ${fixed(top, 0)} to ${fixed(curve[rise] as number, 3)} at distance ${rise}, ` +
        `and there it rises: ${fixed(curve[rise + 1] as number, 3)} at distance ${rise + 1}.`
  byId("similarity-status").textContent = `${rises} ${atOffset(state)}`
  byId("similarity-caption").textContent =
    `At distance 0 it is d/2 = ${fixed(top, 0)}, the squared length of every row. ` +
    (count > state.length
      ? `Distances up to ${count - 1} are drawn, though the table has ${state.length} rows. `
      : "") +
    (state.length > MOST_OFFSETS ? `The first ${MOST_OFFSETS} distances are drawn. ` : "") +
    "The square is your offset."
}

/** The law measured: the same distance at two places far apart. */
function atOffset(state: State): string {
  const product = (p: number): number => {
    const [a, b] = [encode(p, state.dim, state), encode(p + state.offset, state.dim, state)]
    return a.reduce((sum, x, j) => sum + x * (b[j] as number), 0)
  }
  const [here, there] = [product(state.position), product(state.position + 1_000_000)]
  const apart = Math.abs(here - there)
  return (
    `For your offset k\u00a0=\u00a0${fixed(state.offset, 0)} the product is ${fixed(here, 6)} at position ${grouped(state.position)} ` +
    `and ${fixed(there, 6)} a million positions later` +
    (apart === 0 ? ", equal to the last digit." : `: they differ by ${short(apart)}, which is rounding.`)
  )
}
