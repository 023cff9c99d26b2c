const storedSecret = 'tollgate-console-secret'

const at = (id) => document.getElementById(id)

/** Asks the gateway, with the secret of this session. Cookies go along by themselves. */
async function ask(method, path, body) {
  const headers = { 'x-console-secret': sessionStorage.getItem(storedSecret) ?? '' }
  if (body !== undefined) headers['content-type'] = 'application/json'
  const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body) })
  const text = await answer.text()
  return { status: answer.status, value: text === '' ? {} : JSON.parse(text) }
}

function showSignIn(fault) {
  sessionStorage.removeItem(storedSecret)
  at('signed-in').hidden = true
  at('sign-in').hidden = false
  at('fault').textContent = fault
  at('token').focus()
}

function showSession({ name, role, endsAt }) {
  at('sign-in').hidden = true
  at('signed-in').hidden = false
  const end = new Date(endsAt).toISOString().slice(11, 16)
  at('who').textContent = `Signed in as ${name}, role ${role}, until ${end} UTC.`
}

at('sign-in').addEventListener('submit', async (event) => {
  event.preventDefault()
  const token = at('token').value.trim()
  at('token').value = ''
  const { status, value } = await ask('POST', '/console/session', { token })
  if (status !== 201) return showSignIn(value.message)
  sessionStorage.setItem(storedSecret, value.secret)
  showSession(value)
})

at('sign-out').addEventListener('click', async () => {
  await ask('DELETE', '/console/session')
  showSignIn('')
})

at('insecure').hidden = window.isSecureContext
const { status, value } =
  sessionStorage.getItem(storedSecret) === null
    ? { status: 401 }
    : await ask('GET', '/console/session')
if (status === 200) showSession(value)
else showSignIn('')
