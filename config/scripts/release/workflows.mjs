import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { parseDocument } from 'yaml'

const schema = JSON.parse(readFileSync(new URL('workflow.schema.json', import.meta.url), 'utf8'))

/** The faults of all workflows of a folder, each with its file. */
export function faultsOfWorkflows(folder) {
  const isValid = new Ajv({
    allErrors: true,
    allowUnionTypes: true,
    strictRequired: false,
  }).compile(schema)
  return readdirSync(folder)
    .filter((name) => /\.ya?ml$/.test(name))
    .flatMap((name) => {
      const document = parseDocument(readFileSync(join(folder, name), 'utf8'))
      if (document.errors.length > 0)
        return document.errors.map(({ message }) => `${name}: ${message}`)
      const workflow = document.toJS()
      if (!isValid(workflow)) return isValid.errors.map((error) => `${name}: ${sentenceOf(error)}`)
      return [...needFaults(workflow), ...inputFaults(workflow)].map((fault) => `${name}: ${fault}`)
    })
}

function sentenceOf({ instancePath, message, params }) {
  const more = params.additionalProperty ?? ''
  return `${instancePath || 'the file'} ${message} ${more}`.trim()
}

/** Each job that another one needs is there. */
function needFaults({ jobs }) {
  return Object.entries(jobs).flatMap(([name, { needs = [] }]) =>
    [needs]
      .flat()
      .filter((need) => !Object.hasOwn(jobs, need))
      .map((need) => `${name} needs ${need}, which is no job`),
  )
}

/** Text that outsiders choose is never written into a script, where a shell would run it: it comes by the environment. */
function inputFaults({ jobs }) {
  return Object.entries(jobs).flatMap(([name, { steps }]) =>
    steps.flatMap(({ run = '' }) =>
      /\$\{\{\s*(?:github\.(?:event|head_ref|ref)|inputs)/.test(run)
        ? [`${name} writes what others choose into a script: take it from env`]
        : [],
    ),
  )
}
