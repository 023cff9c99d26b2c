// Writes config/gateway.schema.json and gateway/office/config/file.ts anew from the schema in gateway/office/config/schema.ts.
const { prepareOrExit } = await import('./prepare.mjs')
const { writeFileSync } = await import('node:fs')
const { join } = await import('node:path')
const { root } = await import('./shared.mjs')

await prepareOrExit({ forTests: true })
const { jsonSchema } = await import('../../gateway/office/config/json-schema.ts')
const text = `${JSON.stringify(jsonSchema(), null, 2)}\n`
writeFileSync(join(root, 'config/gateway.schema.json'), text)
const { fileTypes } = await import('../../gateway/office/config/file-types.ts')
const { format, resolveConfig } = await import('prettier')
const types = join(root, 'gateway/office/config/file.ts')
const style = await resolveConfig(types)
writeFileSync(types, await format(fileTypes(), { ...style, parser: 'typescript' }))
