/** The longest path that is compared: paths of a deep value would otherwise fill the memory. */
const longestPath = 1_000

/**
 * The difference between two media types for a client. JSON has no charset, and today's readers take text
 * without one for UTF-8. Other parameters don't change how a body is read.
 */
export function typeBreak(before: string, after: string): string | undefined {
  const [old, now] = [mediaType(before), mediaType(after)]
  if (old.name !== now.name) return `the type is ${now.name}, not ${old.name}`
  if (old.charset !== now.charset) return `the charset is ${now.charset}, not ${old.charset}`
  return undefined
}

function mediaType(text: string): { name: string; charset: string } {
  const [name = '', ...parameters] = text.toLowerCase().split(';')
  const charset = parameters.map((each) => /^\s*charset\s*=\s*"?([^"\s]+)/.exec(each)?.[1])
  return { name: name.trim(), charset: charset.find(Boolean) ?? 'utf-8' }
}

/** The members of the earlier JSON answer that the later one lacks, or has with another type. */
export function shapeBreaks(before: string, after: string): string[] {
  const [old, now] = [shapeOf(before), shapeOf(after)]
  if (!old || !now) return old ? ['the body isn’t JSON'] : []
  // Members of a list that is empty now are left out: an empty list doesn't show them.
  const isShown = (path: string): boolean => !path.endsWith('[]') || now.has(path)
  return [...old]
    .filter(([path]) => path === '' || (now.has(parentOf(path)) && isShown(path)))
    .filter(([path, types]) => now.get(path) !== types)
    .map(([path, types]) => {
      const type = now.get(path)
      const name = path === '' ? 'the body' : path
      return type === undefined ? `${name} is missing` : `${name} is ${type}, not ${types}`
    })
}

/** The types of all members, by their paths. */
function shapeOf(text: string): Map<string, string> | undefined {
  const shape = new Map<string, string>()
  const add = (value: unknown, path: string): void => {
    if (path.length > longestPath) return
    if (Array.isArray(value)) {
      shape.set(path, 'a list')
      for (const item of value.slice(0, 20)) add(item, `${path}[]`)
    } else if (typeof value === 'object' && value !== null) {
      shape.set(path, 'an object')
      for (const [name, member] of Object.entries(value)) add(member, `${path}.${name}`)
    } else shape.set(path, value === null ? 'null' : `a ${typeof value}`)
  }
  try {
    add(JSON.parse(text), '')
  } catch {
    return undefined
  }
  return shape
}

function parentOf(path: string): string {
  return path.replace(/(?:\.[^.[\]]+|\[\])$/, '')
}
