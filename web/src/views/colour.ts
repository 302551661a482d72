/** Colours of values from -1 to 1, and pictures painted with them. */

import { interpolateCividis, interpolateRdBu } from "d3-scale-chromatic"

const LEVELS = 511
type Bytes = Uint8ClampedArray

const scales: Readonly<Record<string, (t: number) => string>> = {
  cividis: interpolateCividis,
  // Reversed, so that red is +1.
  "red-blue": (t) => interpolateRdBu(1 - t),
}

const kept = new Map<string, Bytes>()

function levels(name: string): Bytes {
  let bytes = kept.get(name)
  if (bytes === undefined) {
    const scale = scales[name] ?? interpolateCividis
    bytes = new Uint8ClampedArray(3 * LEVELS)
    for (let level = 0; level < LEVELS; level++) bytes.set(channels(scale(level / (LEVELS - 1))), 3 * level)
    kept.set(name, bytes)
  }
  return bytes
}

/** "rgb(1, 2, 3)" or "#010203" as numbers. */
function channels(colour: string): number[] {
  if (colour.startsWith("#")) return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16))
  return (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number)
}

/** The colour of one value, for legends and cells. */
export function colourOf(value: number, name: string): string {
  const at = 3 * Math.round(((Math.min(1, Math.max(-1, value)) + 1) / 2) * (LEVELS - 1))
  const bytes = levels(name)
  return `rgb(${bytes[at]}, ${bytes[at + 1]}, ${bytes[at + 2]})`
}

/** Black or white, whichever is read better on the colour of that value. */
export function inkOn(value: number, name: string): string {
  const [r, g, b] = channels(colourOf(value, name)).map((channel) => {
    const c = channel / 255
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000" : "#fff"
}

/** A stripe of the legend, from -1 to 1. */
export function gradient(name: string): string {
  const stops = Array.from({ length: 17 }, (_, i) => colourOf(i / 8 - 1, name))
  return `linear-gradient(to right, ${stops.join(", ")})`
}

export interface Picture {
  readonly columns: number
  readonly rows: number
  /** A value from -1 to 1; NaN is hatched: there is nothing true to draw. */
  readonly value: (row: number, column: number) => number
}

/** Paints one pixel for each value; style sheets make the pixels as large as they like. */
export function paint(canvas: HTMLCanvasElement, picture: Picture, name: string): void {
  const { columns, rows, value } = picture
  canvas.width = columns
  canvas.height = rows
  const context = canvas.getContext("2d")
  if (context === null || columns === 0 || rows === 0) return
  const image = context.createImageData(columns, rows)
  const bytes = levels(name)
  for (let y = 0, at = 0; y < rows; y++) {
    for (let x = 0; x < columns; x++, at += 4) {
      const v = value(y, x)
      if (Number.isNaN(v)) {
        const grey = (x + y) % 4 < 2 ? 118 : 176
        image.data.set([grey, grey, grey, 255], at)
        continue
      }
      const level = 3 * Math.round(((Math.min(1, Math.max(-1, v)) + 1) / 2) * (LEVELS - 1))
      image.data[at] = bytes[level] as number
      image.data[at + 1] = bytes[level + 1] as number
      image.data[at + 2] = bytes[level + 2] as number
      image.data[at + 3] = 255
    }
  }
  context.putImageData(image, 0, 0)
}
