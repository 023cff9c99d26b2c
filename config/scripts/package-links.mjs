import { dirname, join } from 'node:path/posix'

/** The address at which the repository of a package.json shows its files in a version; `undefined` while it names none. */
export function addressOf({ repository, version }) {
  const [, address] = /^(?:git\+)?(https:.*?)(?:\.git)?$/.exec(repository?.url ?? '') ?? []
  return address && ((way) => `${address}/${way}/v${version}`)
}

/**
 * The text of a document as the package has it: links that leave the package lead to the repository, and are their words
 * alone while it has no address (and pictures are nothing).
 */
export function packedText(text, file, packed, address) {
  return text.replaceAll(
    /(!?)\[([^\]]*)\]\(((?![a-z]+:|#)[^)\s]+)\)/g,
    (whole, image, words, link) => {
      const [path = '', place] = link.split('#')
      const target = join(dirname(file), path).replace(/\/$/, '')
      if (packed.some((each) => each === target || each.startsWith(`${target}/`))) return whole
      if (!address) return image ? '' : words
      const anchor = place === undefined ? '' : `#${place}`
      return `${image}[${words}](${address(image ? 'raw' : 'blob')}/${target}${anchor})`
    },
  )
}
