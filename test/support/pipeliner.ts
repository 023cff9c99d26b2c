import { connect, type Socket } from 'node:net'

// A stranger that sends many requests without waiting for answers, on many connections, in a process of its own:
// pipeliner.js PORT CONNECTIONS DEPTH [AUTHORIZATION]. It asks again when all of a piece is answered, connects
// anew when it is hung up on, and says four times a second how many answers it had.

const [port = '', connections = '', depth = '', authorization = ''] = process.argv.slice(2)
const credentials = authorization === '' ? '' : `Authorization: ${authorization}\r\n`
const piece = `GET /v1/x HTTP/1.1\r\nHost: x\r\n${credentials}\r\n`.repeat(Number(depth))
let answers = 0

function attack(): void {
  const socket: Socket = connect(Number(port), '127.0.0.1')
  let owed = 0
  const send = (): void => {
    owed = Number(depth)
    socket.write(piece)
  }
  socket.on('connect', send)
  socket.on('data', (bytes: Buffer) => {
    const came = bytes.toString('latin1').split('HTTP/1.1 ').length - 1
    answers += came
    owed -= came
    if (owed <= 0) send()
  })
  socket.on('error', () => undefined)
  socket.on('close', () => setImmediate(attack))
}

for (let i = 0; i < Number(connections); i++) attack()
setInterval(() => process.stdout.write(`${answers}\n`), 250)
process.on('disconnect', () => process.exit(0))
