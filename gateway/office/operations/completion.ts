import { oneOf } from './kinds.ts'
import { argument, valueOf } from './parameters.ts'
import { ofTerminal } from './operation.ts'
import { shells } from './shells.ts'

export const completion = ofTerminal({
  name: 'completion',
  because: 'it is about the shell of a terminal',
  summary: 'Print a script that makes a shell complete commands',
  details:
    'Shells then complete commands word by word, options, values that have a list, plans of the configuration, and files. They ' +
    'ask no gateway and no store.\n\n' +
    'bash: in ~/.bashrc, eval "$(tollgate completion bash)". zsh: in ~/.zshrc behind compinit, eval "$(tollgate completion zsh)". ' +
    'fish: tollgate completion fish > ~/.config/fish/completions/tollgate.fish.',
  parameters: {
    shell: {
      ...valueOf(
        oneOf([...shells, 'plans']),
        'SHELL',
        'bash, zsh or fish; with plans, it prints the names that these ask for',
      ),
      ...argument,
    },
  },
  role: 'read',
  say: async ({ shell }, { completionOf, planNames }) => {
    if (shell === 'plans') {
      const plans = await planNames()
      return { json: { plans }, text: plans.join('\n') }
    }
    const script = await completionOf(shell)
    return { json: { shell, script }, text: script }
  },
})
