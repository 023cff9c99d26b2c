import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { parse, stringify } from 'yaml'
import { startStore } from './backend.ts'
import type { Open } from './browser.ts'
import { startGateway, type GatewayOptions } from './gateway.ts'
import { root } from './process.ts'
import { folderOf } from './folder.ts'

/** The animal store's document. */
export const animals = join(root, 'config/openapi/animal-store.yaml')

type Options = GatewayOptions & Readonly<{ text?: string }>

export type Section = Record<string, unknown>

export const section = (value: unknown): Section =>
  (typeof value === 'object' && value ? value : {}) as Section

/** A part of the animal store's document: a browser, and axe more so, looks at every element of a page. */
export function littleDocument(): string {
  const { paths, ...rest } = parse(readFileSync(animals, 'utf8')) as Section
  const { get, post } = section(section(paths)['/v1/pets'])
  const { parameters, get: getOne } = section(section(paths)['/v1/pets/{petId}'])
  const few = { '/v1/pets': { get, post }, '/v1/pets/{petId}': { parameters, get: getOne } }
  return stringify({ ...rest, paths: few })
}

/** A gateway with the pages of a document, in front of a real animal store. */
export async function startPages(
  t: Test,
  { text = littleDocument(), more = '', ...options }: Options = {},
) {
  const folder = folderOf(t, { 'document.yaml': text })
  const store = await startStore(t, { file: join(folder, 'animals.db') })
  return startGateway(t, {
    store: `file: ${join(folder, 'gateway.db')}`,
    ...options,
    upstream: { url: store.url, seen: [] },
    more: `portal: { path: /docs, openapi: ${join(folder, 'document.yaml')} }\n${more}`,
  })
}

/** Opens the page and waits for its content. */
export async function visit(
  open: Open,
  url: string,
  options: Parameters<Open>[1] = {},
): Promise<Page> {
  const page = await open(url, { at: '/docs', ...options })
  await page.locator('h1').waitFor()
  return page
}

export async function enterKey(page: Page, token: string): Promise<void> {
  await page.getByLabel('Your API key').fill(token)
  await page.keyboard.press('Enter')
  await page.getByText(/^This minute/).waitFor()
}

/** Opens an operation by its method and path. */
export async function unfold(page: Page, operation: string) {
  const place = page.locator(`[data-operation="${operation}"]`)
  await page.evaluate(
    `document.querySelector('[data-operation=' + ${JSON.stringify(JSON.stringify(operation))} + ']').open = true`,
  )
  return place
}
