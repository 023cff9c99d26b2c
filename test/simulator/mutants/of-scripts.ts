import type { Fault } from './fault.ts'

const folder = 'gateway/front/stores/redis'
const decide = `${folder}/decide.lua`
const edit = `${folder}/quota-edit.lua`
const adjusted = `${folder}/adjusted.lua`

/** Faults of the scripts in Redis. */
export const faultsOfScripts: readonly Fault[] = [
  {
    name: 'a repeated adjustment is made again',
    file: adjusted,
    find: "if number - first < 0 or find(made, ',' .. number .. ',', 1, true) then return true end",
    replace: 'if number - first < 0 then return true end',
    undoes: '101c0c29',
  },
  {
    name: 'a repeated adjustment brings no lost writes back',
    file: edit,
    find: "  local points = ARGV[9] ~= '' and isMade(hash, ARGV[9]) and 0 or ARGV[3] + 0\n",
    replace:
      "  if ARGV[9] ~= '' and isMade(hash, ARGV[9]) then return textOf(counters) end\n  local points = ARGV[3] + 0\n",
    undoes: 'd3a9bc8f',
  },
  {
    name: 'the first adjustment that a gateway may repeat is forgotten',
    file: adjusted,
    find: 'if each - first >= 0 then',
    replace: 'if each - first > 0 then',
  },
  {
    name: 'a script forgets the weeks of parts when a month begins',
    file: decide,
    find: 'forgetParts(hash, true)',
    replace: 'forgetParts(hash)',
  },
  {
    name: 'a script heals parts with what was seen before a reset',
    file: decide,
    find: "if partSeen ~= '' and not isSeenOld then",
    replace: "if partSeen ~= '' then",
    undoes: '1c2f460b',
  },
  {
    name: 'refusals of hours and days are strikes',
    file: decide,
    find: "if rules ~= '' and full.strikes then",
    replace: "if rules ~= '' then",
    undoes: '136f67fa',
  },
  {
    name: 'a script adjusts parts of before a reset',
    file: edit,
    find: 'if not isReset then adjust(part, points, isAnswered, admitted) end',
    replace: 'adjust(part, points, isAnswered, admitted)',
    undoes: 'f6a4302c',
  },
  {
    name: 'a script’s adjustment brings no lost writes back',
    file: edit,
    find: '  if not isSeenOld then isSeenOld, _, _, lost = heal(hash, counters, countersFrom(ARGV[6])) end\n',
    replace: '',
    undoes: '4a2feafc',
  },
  {
    name: 'a script heals a reset without emptying the windows',
    file: `${folder}/heal.lua`,
    find: '    empty(counters)\n',
    replace: '',
  },
  {
    name: 'a script’s report takes nothing back',
    file: `${folder}/recount.lua`,
    find: 'return number, counted, min(counted, back + backIn(report, window))',
    replace: 'return number, counted, back',
  },
  {
    name: 'the short way admits one point above the limit',
    file: `${folder}/quota.lua`,
    find: 'if total - top <= 0 then',
    replace: 'if total - top <= 1 then',
  },
  {
    name: 'a script takes a late message about places',
    file: `${folder}/places.lua`,
    find: '  if number <= own.number then return own end\n',
    replace: '',
  },
  {
    name: 'a script forgets the places of later questions',
    file: `${folder}/places.lua`,
    find: 'if each > settled then later[#later + 1] = each end',
    replace: 'if each < settled then later[#later + 1] = each end',
  },
]
