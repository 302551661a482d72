/** The two intuitions: a binary counter, and clock hands that turn at the encoding's own frequencies. */

import { turnedText } from "../core/hands"
import { fixed, grouped, short } from "../core/numbers"
import { type Step, sineCosine } from "../core/phase"
import { planOf, type State } from "../core/state"
import { colourOf, inkOn } from "./colour"
import { byId, el, headings, row, svg } from "./dom"
import { ENCODING, type Store, type View } from "./view"

const BITS = 4
const HANDS = 8
const PACE = 700

export function clocksView(store: Store): View {
  const walk = (by: number): void => {
    const { position, length } = store.state
    store.set({ position: (position + by + length) % length })
  }
  byId("clock-back").addEventListener("click", () => walk(-1))
  byId("clock-step").addEventListener("click", () => walk(1))
  const play = byId("clock-play")
  let timer: number | undefined
  play.addEventListener("click", () => {
    if (timer === undefined) timer = window.setInterval(() => walk(1), PACE)
    else {
      window.clearInterval(timer)
      timer = undefined
    }
    play.setAttribute("aria-pressed", String(timer !== undefined))
    play.textContent = timer === undefined ? "Walk" : "Stop"
  })
  return {
    keys: [...ENCODING, "position", "length", "colours"],
    draw: (state) => {
      drawBits(state)
      drawClocks(state)
    },
  }
}

function drawBits(state: State): void {
  const count = 2 ** BITS
  const here = state.position % count
  const rows = Array.from({ length: count }, (_, number) => {
    const bits = number.toString(2).padStart(BITS, "0").split("")
    const made = row(String(number), ...bits)
    bits.forEach((bit, i) => {
      const value = bit === "1" ? 0.8 : -0.8
      Object.assign((made.cells[i + 1] as HTMLElement).style, {
        background: colourOf(value, state.colours),
        color: inkOn(value, state.colours),
      })
    })
    if (number === here) made.className = "here"
    return made
  })
  const paces = Array.from({ length: BITS }, (_, i) => `every ${2 ** (BITS - 1 - i)}`)
  byId("bits").replaceChildren(el("table", {}, headings("number", ...paces), el("tbody", {}, ...rows)))
  byId("bits-caption").textContent =
    `Position ${grouped(state.position)} is ${state.position.toString(2)} in binary; its last four digits are marked. ` +
    "A bit's column repeats after twice as many steps as the one to its right. " +
    ladderText(state)
}

function ladderText(state: State): string {
  const { wavelengths } = planOf(state).ladder
  if (wavelengths.length === 1) return "At width 2 the encoding has only one wave."
  const ratio = (wavelengths[1] as number) / (wavelengths[0] as number)
  if (ratio === 1) return "With base 1 all waves of the encoding are equally long, so this likeness is lost."
  return `In the encoding, as it is set now, each wave is ${ratio < 1.1 ? fixed(ratio, 3) : short(ratio)} times as long as the one before.`
}

function drawClocks(state: State): void {
  const made = planOf(state)
  const count = Math.min(HANDS, made.pairs)
  const pairs = Array.from({ length: count }, (_, i) =>
    count === 1 ? 0 : Math.round((i * (made.pairs - 1)) / (count - 1)),
  )
  const at = state.position + made.convention.positionOffset
  byId("clock-row").replaceChildren(
    ...pairs.map((pair) => clock(pair, at, made.steps[pair] as Step, made.ladder.wavelengths[pair] as number)),
  )
  byId("clock-caption").textContent =
    `Position ${grouped(state.position)}: ${handsText(count, made.pairs)}. ${turnedText(made, state.position)}`
}

function handsText(drawn: number, all: number): string {
  if (all === 1) return "the only hand, at its true angle"
  return drawn === all
    ? `${all === 2 ? "both" : `all ${all}`} hands, at their true angles`
    : `${drawn} of the ${all} hands, at their true angles`
}

function clock(pair: number, position: number, step: Step, wavelength: number): HTMLElement {
  const [sine, cosine] = sineCosine(position, step)
  const [x, y] = [50 + 40 * sine, 50 - 40 * cosine]
  const face = svg(
    "svg",
    { viewBox: "0 0 100 100", "aria-hidden": "true" },
    svg("circle", { cx: 50, cy: 50, r: 44, class: "face" }),
    svg("line", { x1: 50, y1: 6, x2: 50, y2: 12, class: "tick" }),
    svg("line", { x1: 94, y1: 50, x2: 88, y2: 50, class: "tick" }),
    svg("line", { x1: 50, y1: 94, x2: 50, y2: 88, class: "tick" }),
    svg("line", { x1: 6, y1: 50, x2: 12, y2: 50, class: "tick" }),
    svg("line", { x1: 50, y1: 50, x2: x, y2: 50, class: "sine" }),
    svg("line", { x1: x, y1: 50, x2: x, y2: y, class: "cosine" }),
    svg("line", { x1: 50, y1: 50, x2: x, y2: y, class: "hand" }),
    svg("circle", { cx: 50, cy: 50, r: 2.5, class: "pin" }),
  )
  return el(
    "div",
    { class: "clock" },
    face,
    el("p", { class: "clock-title" }, `pair ${pair}`),
    el("p", {}, el("span", { class: "is-sine" }, `sin ${fixed(sine, 3)}`)),
    el("p", {}, el("span", { class: "is-cosine" }, `cos ${fixed(cosine, 3)}`)),
    el("p", { class: "quiet" }, `turn: ${short(wavelength)}`),
  )
}
