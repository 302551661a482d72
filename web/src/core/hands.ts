/** What is said of all hands together, true for many, for one, and for hands that are all equal. */

import type { Plan } from "./encoding"
import { exact, fixed, grouped, short } from "./numbers"

/** Whether several hands turn at one speed, so that "fast" and "slow" mean nothing. */
export function areEqual({ base, pairs }: Plan): boolean {
  return pairs > 1 && base === 1
}

function slower({ ladder }: Plan, length: number): number {
  return ladder.wavelengths.filter((wavelength) => wavelength > length).length
}

/** How many pairs do not come round in so many positions. */
export function reachText(plan: Plan, length: number): string {
  const slow = slower(plan, length)
  const within = `in ${grouped(length)} positions.`
  if (plan.pairs === 1)
    return slow === 0 ? `The one pair finishes a turn ${within}` : `The one pair does not finish a turn ${within}`
  if (slow === 0) return `Every pair finishes a turn ${within}`
  if (slow === plan.pairs) return `No pair finishes a turn ${within}`
  return `${slow} of ${plan.pairs} pairs ${slow === 1 ? "does" : "do"} not finish one turn ${within}`
}

/** What a model that was trained on so many positions meets beyond them for the first time. */
export function unseenText(plan: Plan, length: number): string {
  const slow = slower(plan, length)
  const within = `in ${grouped(length)} positions`
  const passed = "beyond the last position it points again into directions that it has passed before."
  if (plan.pairs === 1 || areEqual(plan)) {
    const who = plan.pairs === 1 ? "the one hand" : `all ${plan.pairs} hands are equal, and each`
    return slow === 0
      ? `With your settings ${who} comes round ${within}; ${passed}`
      : `With your settings ${who} does not come round once ${within}. ` +
          "Beyond the last position it points where a model trained on that length has never seen it."
  }
  if (slow === 0) {
    return (
      `With your settings each of the ${plan.pairs} hands comes round ${within}. ` +
      "All have passed every direction before the end; what is new beyond it is how they stand together."
    )
  }
  return (
    `With your settings, of the ${plan.pairs} hands, ${slow === 1 ? "1 does" : `${slow} do`} not come round once ${within}. ` +
    `Beyond the last position ${slow === 1 ? "that one points" : "those point"} where a model trained on that length ` +
    `has never seen ${slow === 1 ? "it" : "them"}.`
  )
}

/** How the pairs stand on the ruler of wavelengths. */
export function spacingText(plan: Plan): string {
  if (plan.pairs === 1) return "On a ruler of wavelengths the one pair of this width is one line."
  if (areEqual(plan))
    return `On a ruler of wavelengths all ${plan.pairs} pairs stand in one place, because with base 1 they are equally long.`
  const both =
    "On a ruler of wavelengths the two pairs stand apart by one factor: the slow wave is the fast one, stretched."
  if (plan.pairs === 2) return both
  return "On a ruler of wavelengths the pairs stand at equal steps, because each is longer than the last by the same factor."
}

/** The ends of the ladder, with the formula of the longest wave. */
export function endsText(plan: Plan): string {
  const first = fixed(plan.ladder.wavelengths[0] as number, 2)
  if (plan.pairs === 1) return `The one wavelength is 2π = ${first} positions. `
  if (areEqual(plan)) return `All ${plan.pairs} wavelengths are 2π = ${first} positions. `
  const shifted = plan.convention.endpointShift === 1
  const last = plan.ladder.wavelengths.at(-1) as number
  const exponent = shifted ? "" : `^(${plan.dim - 2}/${plan.dim})`
  return (
    `The shortest wavelength is 2π = ${first} positions, the longest 2π · ${exact(plan.base)}${exponent} = ${last < 100 ? fixed(last, 2) : grouped(last)}. ` +
    (shifted ? "" : "That is less than 2π times the base: the ladder stops one rung short of it. ")
  )
}

/** How far the first and the last hand have turned since position 0, wherever they started. */
export function turnedText(plan: Plan, position: number): string {
  const { wavelengths } = plan.ladder
  const turns = `${fixed(position / (wavelengths[0] as number), 2)} times since position 0`
  const start = plan.convention.positionOffset
  const started =
    start === 0
      ? ""
      : ` ${plan.convention.name} counts position 0 as ${start}, so the hands have a start, which is not counted here.`
  if (plan.pairs === 1) return `It has turned ${turns}.${started}`
  if (areEqual(plan)) return `Each has turned ${turns}.${started}`
  const last = (360 * position) / (wavelengths.at(-1) as number)
  return `The first has turned ${turns}, the last by ${short(last)} degrees in all.${started}`
}
