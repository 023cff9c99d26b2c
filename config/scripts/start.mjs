import { parseArgs } from 'node:util'

const help = `Sets up what is missing, then runs the animal store and a gateway in front of it until Ctrl-C.

  npm start                                     everything
  npm start -- --port 9000 --admin-port 9001    with the gateway at other ports
  npm start -- --help                           this text
  npm run gateway        the gateway alone; npm run -s gateway -- --help tells of its environment
  npm run backend        the animal store alone, likewise
  npm run -s tollgate    keys, bans, reports: lists all commands

Without ADMIN_TOKEN, it makes a token for operators, shows it once and keeps it beside the database, in a
file that only you can read (data/admin-token). With it, operators sign in at http://127.0.0.1:8081/console/.

Environment, beside what the two services take:
  PORT   where the animal store listens  8090; the gateway of config/gateway.yaml finds it there
`

const options = {
  port: { type: 'string' },
  'admin-port': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
}

function refuse(sentence) {
  process.stderr.write(`${sentence}. Nothing was started.\n`)
  process.exit(2)
}

function given() {
  const args = process.argv.slice(2)
  try {
    return parseArgs({ args, options }).values
  } catch {
    return refuse(`npm start takes --port N, --admin-port N and --help, got "${args.join(' ')}"`)
  }
}

/** The gateway reads its ports in the environment. */
async function setPort(option, value, variable) {
  const { env } = process
  if (value === undefined && !env[variable]) return
  const { portOf } = await import('../../shared/units.ts')
  try {
    portOf([option, value], [variable, env[variable]])
  } catch (error) {
    refuse(error.message)
  }
  if (value) env[variable] = value
}

const values = given()
if (values.help) process.stdout.write(help)
else {
  await setPort('--port', values.port, 'GATEWAY_PORT')
  await setPort('--admin-port', values['admin-port'], 'ADMIN_PORT')
  const { prepareOrExit } = await import('./prepare.mjs')
  const { runServices } = await import('./services.mjs')
  await prepareOrExit()
  await runServices()
}
