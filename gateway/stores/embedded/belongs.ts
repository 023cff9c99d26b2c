import { existsSync, statSync } from 'node:fs'
import { connect } from '../../../shared/sqlite-pair.ts'

const tables = ['keys', 'secrets', 'quotas']

/** Throws a sentence unless a file is there and a gateway has made it: another program's must not get our tables. */
export function requireGatewayFile(file: string): void {
  if (!existsSync(file)) throw new Error(`there is no file ${file}`)
  if (!statSync(file).isFile()) throw new Error(`${file} is no file`)
  if (!isGatewayFile(file)) throw new Error(`${file} is no store of a gateway`)
}

function isGatewayFile(file: string): boolean {
  try {
    const database = connect(file, { readonly: true, fileMustExist: true })
    try {
      const names = database.prepare<[], string>('SELECT name FROM sqlite_master').pluck().all()
      return tables.every((name) => names.includes(name))
    } finally {
      database.close()
    }
  } catch {
    return false
  }
}
