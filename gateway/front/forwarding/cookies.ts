/** The cookie of the operators' console. Cookies know no port, so browsers send it to callers' addresses of its host, too. */
export const consoleCookie = 'tollgate_console'

/** Browsers send a cookie without a name as its value alone, which then may look like another one. */
const form = `[\\s=]*(?:__Host-)?${consoleCookie}\\s*`
const ofConsole = new RegExp(`^${form}(?:=|;|$)`, 'i')
const ofConsoleAmong = new RegExp(`(?:^|;)${form}(?:=[^;]*)?(?=;|$)`, 'gi')

/** A caller's cookies for a backend: all but the console's. `undefined` if none is left. */
export function cookiesForBackend(cookies: string): string | undefined {
  return cookies.replace(ofConsoleAmong, '').replace(/^;/, '').trim() || undefined
}

/** A backend's cookies for a caller: all but those that would take the place of the console's. */
export function cookiesForCaller(cookies: string | string[]): string | string[] {
  return [cookies].flat().filter((each) => !ofConsole.test(each))
}
