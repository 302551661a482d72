/** Redraws the views that are in sight at once, and the others right after, one at a time, so that sliders stay smooth. */

import type { State } from "../core/state"
import { byId } from "./dom"
import { fitTables } from "./tables"
import type { View } from "./view"

export interface Placed {
  /** The id of the element that the view draws into. */
  readonly place: string
  readonly view: View
}

export class Painter {
  private readonly stale = new Set<Placed>()
  private frame = 0
  private timer = 0

  constructor(
    private readonly all: readonly Placed[],
    private readonly state: () => State,
    private readonly done: () => void,
  ) {}

  /** Marks the views that depend on one of these keys; all of them where no keys are given. */
  change(keys?: ReadonlySet<keyof State>): void {
    for (const placed of this.all) {
      if (keys === undefined || placed.view.keys.some((key) => keys.has(key))) this.stale.add(placed)
    }
    if (this.stale.size > 0 && this.frame === 0) this.frame = requestAnimationFrame(() => this.drawSeen())
  }

  /** Everything, now: before printing. */
  drawAll(): void {
    for (const placed of this.stale) this.draw(placed)
    this.done()
  }

  private drawSeen(): void {
    this.frame = 0
    for (const placed of this.stale) if (isSeen(placed.place)) this.draw(placed)
    window.clearTimeout(this.timer)
    this.timer = window.setTimeout(() => this.drawNext())
  }

  private drawNext(): void {
    const [next] = this.stale
    if (next === undefined) {
      this.done()
      return
    }
    this.draw(next)
    this.timer = window.setTimeout(() => this.drawNext())
  }

  private draw(placed: Placed): void {
    this.stale.delete(placed)
    placed.view.draw(this.state())
    fitTables(byId(placed.place))
  }
}

export function isSeen(place: string): boolean {
  const box = document.getElementById(place)?.getBoundingClientRect()
  return box !== undefined && box.bottom > 0 && box.top < window.innerHeight
}
