/** Puts the page together: state from the address, views that draw it, and the core for the console. */

import { core } from "./core/api"
import { cleaned, fromFragment, toFragment, type State } from "./core/state"
import attention from "./data/attention.json"
import { beyondView } from "./views/beyond"
import { breakingView } from "./views/breaking"
import { clocksView } from "./views/clocks"
import { controlsView } from "./views/controls"
import { byId } from "./views/dom"
import { heatView } from "./views/heat"
import { quietOutOfSight } from "./views/live"
import { orderView } from "./views/order"
import { Painter, type Placed } from "./views/painter"
import { quizView } from "./views/quiz"
import { drawReport, type Report } from "./views/report"
import { ribbonView } from "./views/ribbon"
import { rotaryView } from "./views/rotary"
import { similarityView } from "./views/similarity"
import { turnView } from "./views/turn"
import type { Store } from "./views/view"
import { wavesView } from "./views/waves"
import { whyView } from "./views/why"

const api = core(attention)

function slot(id: string): unknown {
  return JSON.parse(byId(id).textContent || "null") as unknown
}

/** What Python put into the page; the address goes before it. */
const given = (slot("posenc-state") ?? {}) as Record<string, unknown>
const start = cleaned(given)
let state = cleaned({ ...given, ...fromFragment(location.hash) })

const store: Store = {
  get state() {
    return state
  },
  set: (changes) => {
    const next = cleaned({ ...state, ...changes })
    const changed = (Object.keys(next) as (keyof State)[]).filter((key) => !isSame(next[key], state[key]))
    if (changed.length === 0) return
    state = next
    painter.change(new Set(changed))
    window.clearTimeout(writing)
    writing = window.setTimeout(writeAddress, 150)
  },
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

const views: readonly Placed[] = [
  { place: "settings", view: controlsView(store) },
  { place: "ribbon", view: ribbonView() },
  { place: "order", view: orderView(store, api.layer) },
  { place: "table", view: heatView(store) },
  { place: "clocks", view: clocksView(store) },
  { place: "waves", view: wavesView() },
  { place: "turn", view: turnView() },
  { place: "similarity", view: similarityView() },
  { place: "break", view: breakingView(store) },
  { place: "why", view: whyView() },
  { place: "beyond", view: beyondView() },
  { place: "rotary", view: rotaryView() },
  { place: "quiz", view: quizView(store, goTo) },
]

const painter = new Painter(views, () => state, ready)

/** Says once that all is drawn, and how many milliseconds that took. */
function ready(): void {
  document.documentElement.dataset["ready"] ??= String(Math.round(performance.now()))
}

let writing = 0

/** The address follows the state, without a new entry in the history for each move of a slider. */
function writeAddress(): void {
  const fragment = toFragment(state, start)
  const here = location.href.split("#")[0] as string
  history.replaceState(null, "", fragment === "" ? here : `${here}#${fragment}`)
}

/** Scrolls to a section, and leaves the address to the state. */
function goTo(place: string): void {
  const section = document.getElementById(place)
  if (section === null) return
  section.scrollIntoView()
  section.focus({ preventScroll: true })
}

for (const link of document.querySelectorAll<HTMLAnchorElement>('a[href^="#"]')) {
  link.addEventListener("click", (event) => {
    event.preventDefault()
    goTo((link.getAttribute("href") as string).slice(1))
  })
}
window.addEventListener("hashchange", () => {
  if (location.hash.includes("=")) store.set(cleaned({ ...given, ...fromFragment(location.hash) }))
  else goTo(location.hash.slice(1))
})

let width = window.innerWidth
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return
  width = window.innerWidth
  painter.change()
})
window.addEventListener("beforeprint", () => painter.drawAll())

// The first time all at once: who opens the page, or tests it, finds it whole.
painter.change()
painter.drawAll()
quietOutOfSight()
drawReport(slot("posenc-report") as Report | null, (fault) => {
  store.set({ break: fault })
  goTo("break")
})
if (location.hash !== "" && !location.hash.includes("=")) goTo(location.hash.slice(1))
Object.assign(window, {
  posenc: {
    ...api,
    get state() {
      return state
    },
    set: store.set,
  },
})
