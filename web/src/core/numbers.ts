/** Numbers as people read them: fixed digits, true minus signs, powers of ten. */

const SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹"

/** A number with that many decimals and a true minus sign; no "-0.00". */
export function fixed(value: number, decimals: number): string {
  const text = Math.abs(value).toFixed(decimals)
  return value < 0 && Number(text) !== 0 ? `\u2212${text}` : text
}

/** A signed number, so that columns of them line up. */
export function signed(value: number, decimals: number): string {
  const text = fixed(value, decimals)
  return text.startsWith("\u2212") ? text : `+${text}`
}

/** A whole number in groups of three, with thin spaces. */
export function grouped(value: number): string {
  const digits = Math.abs(Math.round(value)).toString()
  const text = digits.length <= 4 ? digits : digits.replace(/\B(?=(\d{3})+$)/g, "\u202f")
  return value < 0 ? `\u2212${text}` : text
}

/** A setting as it is: whole numbers in groups, others with all their digits. */
export function exact(value: number): string {
  return Number.isInteger(value) ? grouped(value) : String(value)
}

/** About three significant digits: 0.0177, 6.28, 47 117, 2.2 × 10⁻¹⁶. */
export function short(value: number): string {
  const size = Math.abs(value)
  if (size === 0) return "0"
  if (size >= 1e7 || size < 1e-3) return scientific(value)
  if (size >= 100) return grouped(value)
  return fixed(value, size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : 4)
}

function scientific(value: number): string {
  const [mantissa, exponent] = value.toExponential(1).split("e") as [string, string]
  const raised = exponent
    .replace("+", "")
    .replace("-", "⁻")
    .replace(/\d/g, (digit) => SUPERSCRIPT[Number(digit)] as string)
  return `${mantissa.replace("-", "\u2212")}\u00a0×\u00a010${raised}`
}

/** "1 word", "3 words". */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`
}
