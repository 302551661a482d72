/** Perplexity beyond the trained length: published numbers, drawn. */

import { unseenText } from "../core/hands"
import { fixed, grouped } from "../core/numbers"
import { EXTRAPOLATION, LENGTHS_TRIED } from "../core/published"
import { planOf, type State } from "../core/state"
import { chart, isNarrow, Plot } from "./chart"
import { byId, el, headings, row } from "./dom"
import { ENCODING, type View } from "./view"

const COLOURS = ["var(--c2)", "var(--c4)", "var(--c3)", "var(--c1)"]
const SYMBOLS = ["circle", "square", "triangle", "diamond"] as const

export function beyondView(): View {
  return {
    keys: [...ENCODING, "length"],
    draw: (state) => {
      drawCurves()
      drawUnseen(state)
    },
  }
}

/** Which values of the encoding a model meets for the first time beyond its trained length. */
function drawUnseen(state: State): void {
  byId("beyond-unseen").textContent = unseenText(planOf(state), state.length)
}

function drawCurves(): void {
  const into = byId("beyond-chart")
  const narrow = isNarrow(into)
  const points = EXTRAPOLATION.map(({ name, perplexity }) =>
    perplexity.flatMap((value, i) => (value === null ? [] : [{ name, length: LENGTHS_TRIED[i] as number, value }])),
  )
  const ends = points.map((curve) => curve.at(-1) as { name: string; length: number; value: number })
  chart(into, "Perplexity against length for sinusoidal, rotary, T5 bias and ALiBi; the table below has the numbers", {
    height: narrow ? 320 : 400,
    marginRight: 92,
    marginLeft: 46,
    marginTop: 30,
    marginBottom: 44,
    x: {
      type: "log",
      label: "tokens given at once",
      domain: [480, 16500],
      ticks: narrow ? [512, 2000, 10000] : [512, 1000, 2000, 5000, 10000],
      tickFormat: (d: number) => grouped(d),
    },
    y: {
      type: "log",
      label: "perplexity",
      grid: true,
      domain: [16, 500],
      ticks: [20, 50, 100, 200, 400],
      tickFormat: (d: number) => String(d),
    },
    marks: [
      Plot.ruleX([512], { stroke: "var(--mark)", strokeDasharray: "4 3" }),
      Plot.text([{ length: 512, value: 470 }], {
        x: "length",
        y: "value",
        text: () => "trained on 512",
        textAnchor: "start",
        dx: 6,
        fill: "var(--mark)",
      }),
      ...points.map((curve, i) =>
        Plot.line(curve, { x: "length", y: "value", stroke: COLOURS[i] as string, strokeWidth: 2 }),
      ),
      ...points.map((curve, i) =>
        Plot.dot(curve, { x: "length", y: "value", fill: COLOURS[i] as string, r: 4, symbol: SYMBOLS[i] as string }),
      ),
      ...ends.map((end, i) =>
        Plot.text([end], {
          x: "length",
          y: "value",
          text: "name",
          textAnchor: "start",
          dx: 9,
          fill: COLOURS[i] as string,
          fontSize: 13,
          fontWeight: 600,
        }),
      ),
    ],
  })
  byId("beyond-table").replaceChildren(
    headings("tokens", ...EXTRAPOLATION.map(({ name }) => name)),
    el(
      "tbody",
      {},
      ...LENGTHS_TRIED.map((length, i) =>
        row(
          grouped(length),
          ...EXTRAPOLATION.map(({ perplexity }) => {
            const value = perplexity[i] ?? null
            return value === null ? "out of memory" : fixed(value, 2)
          }),
        ),
      ),
    ),
  )
}
