/** Small helpers that make and find elements. Text always goes in as text, never as HTML. */

export type Child = Node | string

/** The element with this id, which must be of this class. */
export function byId<T extends Element = HTMLElement>(id: string, type?: new () => T): T {
  const found = document.getElementById(id)
  if (found === null || (type !== undefined && !(found instanceof type)))
    throw new Error(`no element #${id} of that kind`)
  return found as unknown as T
}

export function el<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  made.append(...children)
  return made
}

export function svg(
  name: string,
  attributes: Readonly<Record<string, string | number>> = {},
  ...children: readonly Child[]
): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value))
  made.append(...children)
  return made
}

export function mathml(name: string, ...children: readonly Child[]): Element {
  const made = document.createElementNS("http://www.w3.org/1998/Math/MathML", name)
  made.append(...children)
  return made
}

/** A table row: the first cell heads it. */
export function row(head: Child, ...cells: readonly Child[]): HTMLTableRowElement {
  return el("tr", {}, el("th", { scope: "row" }, head), ...cells.map((cell) => el("td", {}, cell)))
}

/** The head of a table. */
export function headings(...names: readonly Child[]): HTMLTableSectionElement {
  return el("thead", {}, el("tr", {}, ...names.map((name) => el("th", { scope: "col" }, name))))
}

/** A minus sign that a program reads, made one that a person reads. */
export function readable(text: string): string {
  return text.replace(/= -/g, "= \u2212")
}

/** The width that figures have inside their column. */
export function innerWidth(element: Element): number {
  const style = getComputedStyle(element)
  return element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight)
}
