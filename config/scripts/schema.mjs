// Writes config/gateway.schema.json anew from the schema in gateway/office/config/schema.ts.
const { prepareOrExit } = await import('./prepare.mjs')
const { writeFileSync } = await import('node:fs')
const { join } = await import('node:path')
const { root } = await import('./shared.mjs')

await prepareOrExit({ forTests: true })
const { jsonSchema } = await import('../../gateway/office/config/json-schema.ts')
const text = `${JSON.stringify(jsonSchema(), null, 2)}\n`
writeFileSync(join(root, 'config/gateway.schema.json'), text)
