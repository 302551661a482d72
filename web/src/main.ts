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
import { orderView } from "./views/order"
import { quizView } from "./views/quiz"
import { drawReport, type Report } from "./views/report"
import { ribbonView } from "./views/ribbon"
import { rotaryView } from "./views/rotary"
import { similarityView } from "./views/similarity"
import { turnView } from "./views/turn"
import type { Store, View } from "./views/view"
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
const changed = new Set<keyof State>()
let scheduled = 0

const store: Store = {
  get state() {
    return state
  },
  set: (changes) => {
    const next = cleaned({ ...state, ...changes })
    for (const key of Object.keys(next) as (keyof State)[]) {
      if (String(next[key]) !== String(state[key])) changed.add(key)
    }
    state = next
    if (changed.size > 0 && scheduled === 0) scheduled = requestAnimationFrame(redraw)
  },
}

const views: readonly View[] = [
  controlsView(store),
  ribbonView(),
  orderView(store, api.layer),
  heatView(store),
  clocksView(store),
  wavesView(),
  turnView(),
  similarityView(),
  breakingView(store),
  whyView(),
  beyondView(),
  rotaryView(),
  quizView(store, goTo),
]

function redraw(): void {
  scheduled = 0
  const keys = new Set(changed)
  changed.clear()
  views.filter((view) => view.keys.some((key) => keys.has(key))).forEach((view) => view.draw(state))
  window.clearTimeout(writing)
  writing = window.setTimeout(writeAddress, 150)
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
  views.forEach((view) => view.draw(state))
})

views.forEach((view) => view.draw(state))
drawReport(slot("posenc-report") as Report | null)
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
document.documentElement.dataset["ready"] = String(Math.round(performance.now()))
