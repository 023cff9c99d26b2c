import { singleQuoted, type Dialect } from './dialect.ts'

/** For zsh with its completion system (`compinit`). */
export const zsh: Dialect = {
  quoted: singleQuoted,
  // A colon separates a word from its help.
  textOf: ({ word, help }) => (word.startsWith(':') || help === '' ? word : `${word}:${help}`),
  branch: (places, texts) => `    ${places.join('|')}) offers=(${texts.join(' ')}) ;;`,
  script: (branches) => `
# Sets all that may stand at a place; fails where nothing is known of it.
_tollgate_at() {
  case $1 in
${branches}
    *) return 1 ;;
  esac
}

_tollgate() {
  local place=tollgate option= word
  local -a offers
  for word in "\${(@Q)words[2,CURRENT-1]}"; do
    if [[ -n $option ]]; then option=
    elif [[ $word == -- ]]; then break
    elif _tollgate_at "$place $word"; then
      if [[ $word == -* ]]; then option=$word; else place="$place $word"; fi
    fi
  done
  if [[ -z $option && $PREFIX == --*=* ]]; then
    option=\${PREFIX%%=*}
    compset -P 1 '*='
  fi
  offers=()
  _tollgate_at "$place\${option:+ $option}" || return 1
  if (( \${offers[(I):file]} )); then
    offers=("\${(@)offers:#:file}")
    _files
  fi
  if (( \${offers[(I):plan]} )); then
    offers=("\${(@)offers:#:plan}" \${(f)"$("$words[1]" completion plans 2> /dev/null)"})
  fi
  _describe -V tollgate offers
}

compdef _tollgate tollgate`,
}
