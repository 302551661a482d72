/** A doctor's report, drawn as a section of the page where one was put in. */

import { CONVENTIONS } from "../core/conventions"
import { counted } from "../core/numbers"
import { byId, el, headings, row, type Child } from "./dom"

interface Check {
  readonly id: string
  readonly status: "pass" | "fail" | "skip"
  readonly severity: "fault" | "risk" | "note"
  readonly measured?: unknown
  readonly limit?: unknown
  readonly reason?: string | null
  readonly fix?: string | null
  readonly docs?: string | null
}

export interface Report {
  readonly target: string
  readonly convention?: string | null
  readonly checks: readonly Check[]
}

const ORDER = { fail: 0, skip: 1, pass: 2 }
const SEVERITY = { fault: 0, risk: 1, note: 2 }

/** Nothing happens where there is no report. */
export function drawReport(report: Report | null): void {
  if (report === null) return
  const { checks } = report
  byId("report").hidden = false
  byId("report-entry").hidden = false
  const of = (status: Check["status"]): number => checks.filter((check) => check.status === status).length
  const faults = checks.filter((check) => check.status === "fail" && check.severity === "fault").length
  byId("report-lead").textContent =
    `${text(report.target)}${report.convention ? `, which speaks ${text(report.convention)}` : ""}: ` +
    `${counted(checks.length, "check")}, ${of("pass")} passed, ${of("fail")} failed, ${of("skip")} skipped. ` +
    (faults === 0 ? "No fault was found. " : `${counted(faults, "fault")} found. `) +
    (isDrawn(report) ? "The pictures above can be drawn in its convention: it is in the settings." : "")
  const sorted = [...checks].sort(
    (a, b) => ORDER[a.status] - ORDER[b.status] || SEVERITY[a.severity] - SEVERITY[b.severity] || a.id.localeCompare(b.id),
  )
  byId("report-table").replaceChildren(
    headings("check", "result", "severity", "measured", "limit", "what it means, and what to do"),
    el("tbody", {}, ...sorted.map(line)),
  )
}

function isDrawn({ convention }: Report): boolean {
  return CONVENTIONS.some(({ name }) => name === convention)
}

function line(check: Check): HTMLTableRowElement {
  const look = check.status === "pass" ? "holds" : check.status === "skip" ? "quiet" : check.severity === "fault" ? "falls" : "weak"
  const words: Child[] = [check.reason, check.fix, check.docs].filter(Boolean).map((each) => el("p", {}, text(each)))
  return row(
    text(check.id),
    el("span", { class: `is-${look}` }, text(check.status)),
    text(check.severity),
    text(check.measured),
    text(check.limit),
    el("div", {}, ...words),
  )
}

function text(value: unknown): string {
  if (value === null || value === undefined) return "\u2013"
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : JSON.stringify(value)
}
