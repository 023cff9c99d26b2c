import { refusalOf, send, type Sent } from './api.ts'

/** Asks a path for CSV, and hands the answer to the browser as a file; a refusal is thrown, and no file. */
export async function saveCsv(name: string, method: string, path: string, sent: Sent = {}) {
  const answer = await send(method, path, { ...sent, accept: 'text/csv' })
  if (!answer.ok) throw await refusalOf(answer)
  saveAs(name, await answer.text(), 'text/csv')
}

/** Hands a text to the browser as a file. */
function saveAs(name: string, text: string, type: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type }))
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
