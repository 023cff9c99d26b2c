import type { Dialect } from './dialect.ts'

/** For fish from 3.0 on. */
export const fish: Dialect = {
  quoted: (text) => `'${text.replace(/[\\']/g, '\\$&')}'`,
  // A tab separates a word from its help.
  textOf: ({ word, help }) => (help === '' ? word : `${word}\t${help}`),
  branch: (places, texts) =>
    `        case ${places.join(' ')}\n` +
    `            ${texts.length > 0 ? `printf '%s\\n' ${texts.join(' ')}` : 'true'}`,
  script: (branches) => `
# Prints all that may stand at a place; fails where nothing is known of it.
function __tollgate_at
    switch "$argv"
${branches}
        case '*'
            return 1
    end
end

function __tollgate
    set -l place tollgate
    set -l option
    set -l current (commandline -ct)
    set -l before (commandline -opc)
    for word in $before
        if test -n "$option"
            set option
        else if test "$word" = --
            break
        else if __tollgate_at $place $word > /dev/null
            if string match -q -- '-*' $word
                set option $word
            else
                set place $place $word
            end
        end
    end
    set -l beginning ''
    if test -z "$option"; and string match -q -- '--*=*' $current
        set -l parts (string split -m 1 = -- $current)
        set option $parts[1]
        set beginning $option=
        set current $parts[2]
    end
    for offer in (__tollgate_at $place $option)
        if test "$offer" = :file
            printf '%s\\n' $beginning(__fish_complete_path $current)
        else if test "$offer" = :plan
            printf '%s\\n' $beginning($before[1] completion plans 2> /dev/null)
        else
            printf '%s\\n' $beginning$offer
        end
    end
end

complete -c tollgate -f -a '(__tollgate)'`,
}
