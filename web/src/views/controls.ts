/** The bar of settings: native sliders and lists, each with its value beside it. */

import { CONVENTIONS } from "../core/conventions"
import { exact, grouped } from "../core/numbers"
import { BASES, COLOURS, DEFAULT, DIMS, LENGTHS, MOST_OFFSET, type State } from "../core/state"
import { byId, el } from "./dom"
import type { Store, View } from "./view"

type Listed = "dim" | "length" | "base"
type Ranged = "position" | "dimension" | "offset"

const LISTS: Readonly<Record<Listed, readonly number[]>> = { dim: DIMS, length: LENGTHS, base: BASES }

/** The stops of a slider; a value that came with the address becomes a stop of its own. */
function stops(key: Listed, value: number): number[] {
  return [...new Set([...LISTS[key], value])].sort((a, b) => a - b)
}

function shown(key: Listed | Ranged, value: number): string {
  return key === "base" ? exact(value) : grouped(value)
}

export function controlsView(store: Store): View {
  const slider = (key: Listed | Ranged): HTMLInputElement => byId(key, HTMLInputElement)
  for (const key of ["dim", "length", "base"] as const) {
    slider(key).addEventListener("input", () => {
      store.set({ [key]: stops(key, store.state[key])[Number(slider(key).value)] as number })
    })
  }
  for (const key of ["position", "dimension", "offset"] as const) {
    slider(key).addEventListener("input", () => store.set({ [key]: Number(slider(key).value) }))
  }
  const convention = byId("convention", HTMLSelectElement)
  convention.replaceChildren(...CONVENTIONS.map(({ name, title }) => el("option", { value: name }, title)))
  convention.addEventListener("change", () => store.set({ convention: convention.value }))
  const colours = byId("colours", HTMLSelectElement)
  colours.replaceChildren(...COLOURS.map((name) => el("option", { value: name }, name)))
  colours.addEventListener("change", () => store.set({ colours: colours.value }))
  byId("reset").addEventListener("click", () => store.set({ ...DEFAULT, sentences: store.state.sentences }))
  keepClear(byId("bar"))
  byId("settings", HTMLDetailsElement).open = window.matchMedia("(min-width: 56rem)").matches

  function list(state: State, key: Listed): void {
    const values = stops(key, state[key])
    const input = slider(key)
    input.min = "0"
    input.max = String(values.length - 1)
    input.step = "1"
    input.value = String(values.indexOf(state[key]))
    input.setAttribute("aria-valuetext", shown(key, state[key]))
    byId(`${key}-out`).textContent = shown(key, state[key])
  }

  function range(state: State, key: Ranged, low: number, high: number): void {
    const input = slider(key)
    input.min = String(low)
    input.max = String(high)
    input.value = String(state[key])
    byId(`${key}-out`).textContent = shown(key, state[key])
  }

  return {
    keys: ["dim", "length", "base", "convention", "position", "dimension", "offset", "colours"],
    draw: (state) => {
      list(state, "dim")
      list(state, "length")
      list(state, "base")
      range(state, "position", 0, state.length - 1)
      range(state, "dimension", 0, state.dim - 1)
      range(state, "offset", -MOST_OFFSET, MOST_OFFSET)
      convention.value = state.convention
      colours.value = state.colours
      const found = CONVENTIONS.find(({ name }) => name === state.convention)
      byId("convention-says").textContent = `${state.convention}: ${found?.says ?? ""}.`
      byId("settings-summary").textContent = [
        `d ${state.dim}`,
        `n ${grouped(state.length)}`,
        `base ${exact(state.base)}`,
        `position ${grouped(state.position)}`,
        `dimension ${state.dimension}`,
        `k ${shown("offset", state.offset)}`,
      ].join(" · ")
    },
  }
}

/** What is scrolled to must not end up behind the bar, whatever its height. */
function keepClear(bar: HTMLElement): void {
  const clear = (): void => {
    document.documentElement.style.scrollPaddingTop = `${bar.offsetHeight + 12}px`
  }
  new ResizeObserver(clear).observe(bar)
  clear()
}
