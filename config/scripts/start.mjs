const help = `Sets up what is missing, then runs the animal store and a gateway in front of it until Ctrl-C.

  npm start              everything
  npm start -- --help    this text
  npm run gateway        the gateway alone; npm run -s gateway -- --help tells of its environment
  npm run backend        the animal store alone, likewise
  npm run -s tollgate    keys, bans, reports: lists all commands

Without ADMIN_TOKEN, it makes a token for operators, shows it once and keeps it beside the database, in a
file that only you can read (data/admin-token). With it, operators sign in at http://127.0.0.1:8081/console/.

Environment, beside what the two services take:
  PORT   where the animal store listens  8090; the gateway of config/gateway.yaml finds it there
`

const [word, ...more] = process.argv.slice(2)
if (word === '--help' || word === '-h') {
  process.stdout.write(help)
} else if (word !== undefined) {
  const all = [word, ...more].join(' ')
  process.stderr.write(`npm start takes nothing but --help, got "${all}". Nothing was started.\n`)
  process.exitCode = 2
} else {
  const { prepareOrExit } = await import('./prepare.mjs')
  const { runServices } = await import('./services.mjs')
  await prepareOrExit()
  await runServices()
}
