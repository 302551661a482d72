/** Lets only the status lines that are in sight be read aloud: a slider changes many at once. */

export function quietOutOfSight(): void {
  const lines = document.querySelectorAll<HTMLElement>('[role="status"]')
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries)
      target.setAttribute("aria-live", isIntersecting ? "polite" : "off")
  })
  for (const line of lines) watch.observe(line)
}
