/** The numbers of one word as a strip of colours. */

import { paint } from "./colour"
import { el } from "./dom"

/** Values from -scale to scale, one cell each; a text beside it says what they are. */
export function strip(values: Float64Array, scale: number, colours: string): HTMLElement {
  const canvas = el("canvas", { "aria-hidden": "true", class: "strip" })
  paint(canvas, { columns: values.length, rows: 1, value: (_, x) => (values[x] as number) / scale }, colours)
  return canvas
}
