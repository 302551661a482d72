/** The table as a picture, with a cursor that mouse and arrow keys move, and the cell under it in words. */

import { cellText } from "../core/cell"
import { type Plan, writeRow } from "../core/encoding"
import { areEqual, reachText } from "../core/hands"
import { fixed, grouped, short } from "../core/numbers"
import { planOf, type State } from "../core/state"
import { colourOf, gradient, inkOn, paint } from "./colour"
import { byId, el, headings, innerWidth, readable, row } from "./dom"
import { ENCODING, type Store, type View } from "./view"

/** More rows than this are not drawn: then every second, third .. position is. */
export const MOST_ROWS = 512

/** Labels stand at least that far apart. */
const LABEL_PIXELS = 44
/** Room for the labels of positions. */
const GUTTER = 56

/** Rows and columns of the table of numbers, and the room that a column of it takes. */
const MOST_NUMBERS = 9
const NUMBER_PIXELS = 76

export function strideOf(length: number): number {
  return Math.ceil(length / MOST_ROWS)
}

/** A wave that turns more than once in two drawn rows would look like a slower one. */
export function isAliased(pair: number, stride: number, encodingPlan: Plan): boolean {
  return stride > 1 && (encodingPlan.ladder.wavelengths[pair] as number) < 2 * stride
}

export function heatView(store: Store): View {
  const canvas = el("canvas", { role: "img", tabindex: "0", id: "heat-canvas" })
  const rowMark = el("div", { class: "heat-row" })
  const columnMark = el("div", { class: "heat-column" })
  const cellMark = el("div", { class: "heat-cell" })
  const sheet = el("div", { class: "heat-sheet" }, canvas, rowMark, columnMark, cellMark)
  const across = el("div", { class: "axis axis-x", "aria-hidden": "true" })
  const down = el("div", { class: "axis axis-y", "aria-hidden": "true" })
  const frame = el("div", { class: "heat-frame" }, across, down, sheet)
  const legend = el("div", { class: "legend", "aria-hidden": "true" })
  const scroller = el("div", { class: "heat-scroll" }, frame)
  byId("heat").replaceChildren(scroller, legend)
  const details = byId("heat-details", HTMLDetailsElement)
  let painted = ""
  let walked = ""

  function at(event: PointerEvent): void {
    const box = canvas.getBoundingClientRect()
    const { dim, length } = store.state
    const stride = strideOf(length)
    const inside = (share: number, count: number): number => Math.min(count - 1, Math.max(0, Math.floor(share * count)))
    const drawn = inside((event.clientY - box.top) / box.height, Math.ceil(length / stride))
    store.set({
      dimension: inside((event.clientX - box.left) / box.width, dim),
      position: Math.min(length - 1, drawn * stride),
    })
  }
  canvas.addEventListener("pointerdown", (event) => {
    canvas.focus({ preventScroll: true })
    at(event)
  })
  canvas.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse" && (event.buttons & 1) === 1) at(event)
  })
  canvas.addEventListener("keydown", (event) => {
    const moves: Readonly<Record<string, [number, number]>> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      PageUp: [-10, 0],
      PageDown: [10, 0],
      Home: [0, -Infinity],
      End: [0, Infinity],
    }
    const move = moves[event.key]
    if (move === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    const { position, dimension, dim, length } = store.state
    const kept = (value: number, most: number): number => Math.min(most, Math.max(0, value))
    store.set({
      position: kept(position + move[0] * strideOf(length), length - 1),
      dimension: kept(dimension + move[1], dim - 1),
    })
  })
  details.addEventListener("toggle", () => drawNumbers(store.state))

  function drawPicture(state: State, encodingPlan: Plan): void {
    const stride = strideOf(state.length)
    const rows = Math.ceil(state.length / stride)
    const width = innerWidth(frame) - GUTTER
    const cell = width / state.dim >= 3 ? width / state.dim : Math.max(1, Math.floor(width / state.dim))
    sheet.style.width = `${cell * state.dim}px`
    sheet.style.height = `${rows * Math.max(1, Math.min(22, Math.floor(480 / rows)))}px`
    labelAxis(across, state.dim, 1, "dimension", cell * state.dim)
    labelAxis(down, rows, stride, "position", parseFloat(sheet.style.height))
    const key = [state.dim, state.length, state.base, state.convention, state.colours].join(" ")
    if (key === painted) return
    painted = key
    const values = new Float64Array(state.dim)
    let current = -1
    paint(
      canvas,
      {
        columns: state.dim,
        rows,
        value: (y, x) => {
          if (y !== current) writeRow(y * stride, encodingPlan, values)
          current = y
          return isAliased(encodingPlan.columns[x]?.pair ?? 0, stride, encodingPlan) ? NaN : (values[x] as number)
        },
      },
      state.colours,
    )
    legend.replaceChildren(
      "\u22121",
      el("span", { class: "legend-bar", style: `background: ${gradient(state.colours)}` }),
      "+1",
    )
  }

  function drawCursor(state: State): void {
    const stride = strideOf(state.length)
    const rows = Math.ceil(state.length / stride)
    const drawn = Math.min(rows - 1, Math.floor(state.position / stride))
    const [top, height] = [`${(100 * drawn) / rows}%`, `${100 / rows}%`]
    const [left, width] = [`${(100 * state.dimension) / state.dim}%`, `${100 / state.dim}%`]
    Object.assign(rowMark.style, { top, height })
    Object.assign(columnMark.style, { left, width })
    Object.assign(cellMark.style, { top, height, left, width })
    const at = [state.dimension, state.dim].join(" of ")
    if (at !== walked) keepInSight()
    walked = at
  }

  /** A wide table scrolls sideways with its cursor. */
  function keepInSight(): void {
    const [box, cell] = [scroller.getBoundingClientRect(), cellMark.getBoundingClientRect()]
    if (cell.left < box.left) scroller.scrollLeft -= box.left - cell.left + GUTTER
    else if (cell.right > box.right) scroller.scrollLeft += cell.right - box.right + GUTTER
  }

  function drawNumbers(state: State): void {
    if (!details.open) return
    const fitting = Math.floor((innerWidth(details) - GUTTER) / NUMBER_PIXELS)
    const shown = Math.min(MOST_NUMBERS, Math.max(2, fitting), state.dim)
    const first = (middle: number, drawn: number, count: number): number =>
      Math.max(0, Math.min(middle - Math.floor(drawn / 2), count - drawn))
    const [top, left] = [first(state.position, MOST_NUMBERS, state.length), first(state.dimension, shown, state.dim)]
    const columns = Array.from({ length: shown }, (_, j) => left + j)
    const values = new Float64Array(state.dim)
    const encodingPlan = planOf(state)
    const body = Array.from({ length: Math.min(MOST_NUMBERS, state.length) }, (_, i) => {
      writeRow(top + i, encodingPlan, values)
      const made = row(`${top + i}`, ...columns.map((column) => fixed(values[column] as number, 4)))
      columns.forEach((column, j) => {
        const cell = made.cells[j + 1] as HTMLTableCellElement
        const value = values[column] as number
        cell.style.background = colourOf(value, state.colours)
        cell.style.color = inkOn(value, state.colours)
        if (top + i === state.position && column === state.dimension) cell.className = "here"
      })
      return made
    })
    const head = headings("position", ...columns.map((column) => `dim ${column}`))
    byId("heat-numbers").replaceChildren(head, el("tbody", {}, ...body))
  }

  return {
    keys: [...ENCODING, "length", "position", "dimension", "colours"],
    draw: (state) => {
      const encodingPlan = planOf(state)
      drawPicture(state, encodingPlan)
      drawCursor(state)
      drawNumbers(state)
      const text = readable(cellText(state.position, state.dimension, state.dim, state))
      const pair = encodingPlan.columns[state.dimension]?.pair ?? 0
      const wavelength = encodingPlan.ladder.wavelengths[pair] as number
      byId("heat-status").textContent =
        `${text[0]?.toUpperCase()}${text.slice(1)}. Pair ${pair} turns once in ${short(wavelength)} positions.`
      canvas.setAttribute(
        "aria-label",
        `Table of ${grouped(state.length)} positions by ${state.dim} dimensions, ${state.convention}. Arrow keys move the cursor; what it is on is written below.`,
      )
      byId("heat-caption").textContent = captionOf(state, encodingPlan)
    },
  }
}

function labelAxis(axis: HTMLElement, count: number, stride: number, name: string, size: number): void {
  let step = 1
  while ((step * size) / count < LABEL_PIXELS) step *= 2
  const ticks = Array.from({ length: Math.ceil(count / step) }, (_, i) => i * step)
  axis.replaceChildren(
    el("span", { class: "axis-name" }, name),
    ...ticks.map((tick) =>
      el("span", { class: "axis-tick", style: `--at: ${(100 * (tick + 0.5)) / count}%` }, grouped(tick * stride)),
    ),
  )
}

function captionOf(state: State, encodingPlan: Plan): string {
  const stride = strideOf(state.length)
  const reach = reachText(encodingPlan, state.length)
  if (stride === 1) return orderText(encodingPlan) + reach
  const hatched = encodingPlan.columns.filter((column) => isAliased(column.pair, stride, encodingPlan)).length
  const guard =
    ` There are more positions than rows to draw: only one in ${stride} is shown. ` +
    `${hatched} columns are hatched, because they turn more than once in two drawn rows: ` +
    "drawn from so few points they would show slow waves that are not there. Their numbers are true all the same."
  return orderText(encodingPlan) + reach + guard
}

function orderText(encodingPlan: Plan): string {
  const { convention, pairs } = encodingPlan
  if (pairs === 1) return "There is one wave only, as a sine and as a cosine. "
  if (areEqual(encodingPlan)) return "With base 1 all waves are equally fast. "
  if (convention.layout === "halves") {
    return "All waves of one kind stand in the left half, those of the other in the right half, each from fast to slow. "
  }
  return "Fast waves stand on the left, slow ones on the right; each sine has its cosine beside it. "
}
