import type { FastifyInstance } from 'fastify'
import { Refusal } from '../../shared/refusal.ts'
import { differencesOf } from '../config/diff.ts'
import { ConfigError, previewConfig } from '../config/load.ts'
import { requireServable } from '../routes.ts'
import type { AdminContext } from './context.ts'
import { addWithTypes, jsonTypes, requireNothing, sentence, textOf } from './body.ts'

const yamlTypes = ['application/yaml', 'text/yaml', 'text/plain']

/** The configuration: what is in force, what another would change, and reading it again. */
export function addConfig(app: FastifyInstance, { reloader }: AdminContext): void {
  const shown = () => {
    const { file, hash, loadedAtMs, mistakes } = reloader.state
    return {
      file,
      hash,
      loadedAt: new Date(loadedAtMs).toISOString(),
      mistakes: linesOf(mistakes),
      warnings: reloader.loaded.warnings,
      config: reloader.loaded.shown,
    }
  }

  app.get('/admin/config', shown)

  addWithTypes(app, [...yamlTypes, ...jsonTypes], (app) =>
    app.post('/admin/config/check', async ({ body }) => {
      try {
        // Whoever has a token may not have the environment: other tokens are in it.
        const preview = previewConfig(textOf(body), reloader.environment, 'body')
        await requireServable(preview)
        const { shown, warnings } = preview
        const differences = differencesOf(reloader.loaded.shown, shown)
        return { sound: true, mistakes: [], warnings, differences }
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error
        return { sound: false, mistakes: error.mistakes, warnings: [], differences: [] }
      }
    }),
  )

  app.post('/admin/config/reload', async ({ body, admin }) => {
    requireNothing(body)
    const result = await reloader.reload(admin)
    if (result === 'refused') throw refused(linesOf(reloader.state.mistakes))
    return { result, ...shown() }
  })
}

function refused(mistakes: readonly string[]): Refusal {
  const message = `The file is refused, and what was in force stays: ${mistakes.join('; ')}`
  return new Refusal('conflict', sentence(message))
}

function linesOf(mistakes: string | undefined): readonly string[] {
  return mistakes?.split('\n') ?? []
}
