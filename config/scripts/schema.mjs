// Writes config/gateway.schema.json anew from the schema in gateway/office/config/schema.ts, and the commands and roles of operations
// into config/openapi/admin.yaml.
const { prepareOrExit } = await import('./prepare.mjs')
const { readFileSync, writeFileSync } = await import('node:fs')
const { join } = await import('node:path')
const { root } = await import('./shared.mjs')

await prepareOrExit({ forTests: true })
const { jsonSchema } = await import('../../gateway/office/config/json-schema.ts')
const text = `${JSON.stringify(jsonSchema(), null, 2)}\n`
writeFileSync(join(root, 'config/gateway.schema.json'), text)
const { apiDocument } = await import('./openapi.mjs')
const api = join(root, 'config/openapi/admin.yaml')
writeFileSync(api, await apiDocument(readFileSync(api, 'utf8')))
