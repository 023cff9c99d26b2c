import htm from 'htm'
import { h, type VNode } from 'preact'

type Template = (strings: TemplateStringsArray, ...values: unknown[]) => VNode

/** Makes elements of templates. Texts in them are always texts, never markup. */
export const html: Template = (htm as unknown as { bind: (make: typeof h) => Template }).bind(h)

/** The values that a template may hold. */
export type Child = VNode | string | number | boolean | null | undefined | readonly Child[]
