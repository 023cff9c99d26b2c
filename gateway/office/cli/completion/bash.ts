import { singleQuoted, type Dialect } from './dialect.ts'

/** For bash from 3.2 on. */
export const bash: Dialect = {
  quoted: singleQuoted,
  textOf: ({ word }) => word,
  branch: (places, texts) =>
    `    ${places.join('|')}) ${texts.length > 0 ? `printf '%s\\n' ${texts.join(' ')}` : ':'} ;;`,
  script: (branches) => `
# Prints all that may stand at a place; fails where nothing is known of it.
_tollgate_at() {
  case $1 in
${branches}
    *) return 1 ;;
  esac
}

_tollgate() {
  local place=tollgate option= word other i
  local current=\${COMP_WORDS[COMP_CWORD]}
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    # bash takes the = of --option=value for a word.
    if [[ $word == = ]]; then continue
    elif [[ -n $option ]]; then option=
    elif [[ $word == -- ]]; then break
    elif _tollgate_at "$place $word" > /dev/null; then
      if [[ $word == -* ]]; then option=$word; else place="$place $word"; fi
    fi
  done
  [[ $current == = ]] && current=
  COMPREPLY=()
  while IFS= read -r word; do
    if [[ $word == :file ]]; then
      compopt -o filenames 2> /dev/null
      while IFS= read -r other; do COMPREPLY+=("$other"); done < <(compgen -f -- "$current")
    elif [[ $word == :plan ]]; then
      while IFS= read -r other; do
        if [[ $other == "$current"* ]]; then COMPREPLY+=("$other"); fi
      done < <("\${COMP_WORDS[0]}" completion plans 2> /dev/null)
    elif [[ $word == "$current"* ]]; then COMPREPLY+=("$word")
    fi
  done < <(_tollgate_at "$place\${option:+ $option}")
}

complete -F _tollgate tollgate`,
}
