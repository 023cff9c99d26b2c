/** A section of a changelog: `## 1.0.0 (2030-12-31)` or `## Unreleased`, and what it says; `undefined` if it has none. */
export function sectionOf(changelog, name) {
  for (const part of changelog.split(/^## /m).slice(1)) {
    const [heading = '', ...lines] = part.split('\n')
    const [, version, day] = /^(\S+?)(?: \((\d{4}-\d\d-\d\d)\))?$/.exec(heading) ?? []
    if (version === name) return { name, isDated: day !== undefined, text: lines.join('\n').trim() }
  }
  return undefined
}
