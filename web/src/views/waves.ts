/** The columns as waves, and all wavelengths on one ruler. */

import { evenly } from "../core/encoding"
import { endsText, reachText, spacingText } from "../core/hands"
import { fixed, grouped, short } from "../core/numbers"
import { type Step, sineCosine } from "../core/phase"
import { planOf, type State } from "../core/state"
import { chart, isNarrow, Plot } from "./chart"
import { byId, innerWidth } from "./dom"
import { ENCODING, type View } from "./view"

/** A turn needs that many pixels to be seen as one. */
const PIXELS_PER_TURN = 6
const BANDS = 5

interface Sample {
  readonly position: number
  readonly value: number
  readonly wave: "sin" | "cos"
  readonly pair: string
}

export function wavesView(): View {
  return {
    keys: [...ENCODING, "length", "position", "dimension"],
    draw: (state) => {
      drawWaves(state)
      drawRuler(state)
    },
  }
}

function chosenPairs(pairs: number, selected: number): number[] {
  return [...new Set([...evenly(BANDS, pairs), selected])].sort((a, b) => a - b)
}

function drawWaves(state: State): void {
  const into = byId("wave-chart")
  const made = planOf(state)
  const offset = made.convention.positionOffset
  const selected = made.columns[state.dimension]?.pair ?? 0
  const pairs = chosenPairs(made.pairs, selected)
  const last = Math.max(1, state.length - 1)
  const width = innerWidth(into) - 80
  const name = (pair: number): string => (pair === selected ? `pair ${pair} \u25c0` : `pair ${pair}`)
  const curves: Sample[] = []
  const dots: Sample[] = []
  const tooFast: { pair: string; text: string }[] = []
  for (const pair of pairs) {
    const wavelength = made.ladder.wavelengths[pair] as number
    const speed = made.ladder.speeds[pair] as number
    const [sine, cosine] = sineCosine(state.position + offset, made.steps[pair] as Step)
    dots.push({ position: state.position, value: sine, wave: "sin", pair: name(pair) })
    dots.push({ position: state.position, value: cosine, wave: "cos", pair: name(pair) })
    if ((width * wavelength) / last < PIXELS_PER_TURN) {
      tooFast.push({
        pair: name(pair),
        text: `${grouped(last / wavelength)} turns: too fast to draw${isNarrow(into) ? "" : " truly at this length"}`,
      })
      continue
    }
    const samples = Math.min(2400, Math.max(240, Math.ceil((24 * last) / wavelength)))
    for (let i = 0; i <= samples; i++) {
      const position = (i * last) / samples
      // Between whole positions the curve only guides the eye; doubles are fine for it.
      const angle = (position + offset) * speed
      curves.push({ position, value: Math.sin(angle), wave: "sin", pair: name(pair) })
      curves.push({ position, value: Math.cos(angle), wave: "cos", pair: name(pair) })
    }
  }
  const facet = { fy: "pair" } as const
  const kind = (wave: "sin" | "cos", data: Sample[]): Sample[] => data.filter((sample) => sample.wave === wave)
  chart(into, `Sine and cosine of ${pairs.length} pairs over ${grouped(state.length)} positions`, {
    height: 92 * pairs.length + 50,
    marginLeft: 34,
    marginRight: 78,
    x: {
      label: "position",
      domain: [0, last],
      ticks: Math.min(isNarrow(into) ? 4 : 12, last),
      tickFormat: (d: number) => grouped(d),
    },
    y: { label: null, ticks: [-1, 0, 1], tickFormat: (d: number) => fixed(d, 0), domain: [-1.12, 1.12] },
    fy: { label: null, domain: pairs.map(name), padding: 0.12 },
    marks: [
      Plot.ruleY([0], { stroke: "var(--line)" }),
      Plot.ruleX([state.position], { stroke: "var(--mark)", strokeWidth: 1.5 }),
      Plot.line(kind("sin", curves), { x: "position", y: "value", ...facet, stroke: "var(--c1)", strokeWidth: 1.8 }),
      Plot.line(kind("cos", curves), {
        x: "position",
        y: "value",
        ...facet,
        stroke: "var(--c2)",
        strokeWidth: 1.8,
        strokeDasharray: "5 4",
      }),
      Plot.dot(kind("sin", dots), { x: "position", y: "value", ...facet, fill: "var(--c1)", r: 4.5 }),
      Plot.dot(kind("cos", dots), { x: "position", y: "value", ...facet, fill: "var(--c2)", r: 4.5, symbol: "square" }),
      Plot.text(tooFast, { ...facet, text: "text", frameAnchor: "middle", fill: "var(--quiet)", fontSize: 13 }),
    ],
  })
  const wavelength = made.ladder.wavelengths[selected] as number
  byId("wave-caption").textContent =
    `Pair ${selected}, marked with a triangle, is the one of dimension ${state.dimension}: ` +
    `${short(state.length / wavelength)} turns in ${grouped(state.length)} positions. ` +
    `One step turns pair 0 by ${fixed((180 / Math.PI) * (made.ladder.speeds[0] as number), 1)} degrees` +
    (made.pairs === 1
      ? "."
      : ` and pair ${made.pairs - 1} by ${short((180 / Math.PI) * (made.ladder.speeds.at(-1) as number))}.`)
}

function drawRuler(state: State): void {
  const into = byId("ruler-chart")
  const made = planOf(state)
  const { wavelengths } = made.ladder
  const selected = made.columns[state.dimension]?.pair ?? 0
  const [first, last] = [wavelengths[0] as number, wavelengths.at(-1) as number]
  const narrow = isNarrow(into)
  const marked = [
    { at: state.length, text: `length ${grouped(state.length)}`, colour: "var(--mark)" },
    { at: wavelengths[selected] as number, text: `pair ${selected}`, colour: "var(--c1)" },
  ]
  chart(into, `Wavelengths of ${made.pairs} pairs from ${short(first)} to ${short(last)} positions, logarithmic`, {
    height: 150,
    marginTop: 54,
    marginBottom: 44,
    marginLeft: 16,
    marginRight: 16,
    x: {
      type: "log",
      domain: [Math.min(3, 0.6 * state.length), Math.max(last * 1.5, state.length * 1.5, 20)],
      label: "positions for one turn",
      ticks: narrow ? 4 : 8,
      tickFormat: (value: number) => (Number.isInteger(Math.log10(value)) || !narrow ? grouped(value) : ""),
    },
    y: { axis: null, domain: [0, 1] },
    marks: [
      Plot.ruleX(wavelengths, { x: (d: number) => d, y1: 0, y2: 0.62, stroke: "currentColor", strokeOpacity: 0.75 }),
      Plot.ruleX(marked, { x: "at", y1: 0, y2: 1, stroke: "colour", strokeWidth: 2.5 }),
      Plot.text([marked[0]], { x: "at", y: 1, text: "text", dy: -26, fill: "colour", fontWeight: 600 }),
      Plot.text([marked[1]], { x: "at", y: 1, text: "text", dy: -9, fill: "colour", fontWeight: 600 }),
      Plot.ruleY([0]),
    ],
  })
  byId("ruler-says").textContent = spacingText(made)
  byId("ruler-caption").textContent = endsText(made) + reachText(made, state.length)
}
