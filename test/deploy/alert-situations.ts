/** A situation that an alert is for, and how little is none: samples every 15 s, in the notation of `promtool test rules`. */
export type Situation = Readonly<{
  alert: string
  series: Readonly<Record<string, string>>
  /** When it fires, and the labels that it has beside its own. */
  fires: string
  labels: Readonly<Record<string, string>>
  /** When it doesn't: 15 s earlier, or after its end. */
  silent: readonly string[]
  /** Samples just below what it is about: it never fires. */
  calm?: Readonly<Record<string, string>>
}>

const at = 'instance="a:8081", job="tollgate"'
const here = { instance: 'a:8081' }
const whole = { ...here, job: 'tollgate' }
const target = (name: string): string =>
  `tollgate_upstream_healthy{${at}, target="${name}", upstream="animals"}`
const answers = (kind: string): string =>
  `tollgate_upstream_answers_total{${at}, class="${kind}", target="http://b", upstream="animals"}`
const own = (le: string): string => `tollgate_own_duration_seconds_bucket{${at}, le="${le}"}`
const refusals = `tollgate_refusals_total{${at}, plan="free", reason="rate_limit_exceeded", window="minute"}`
const bans = `tollgate_refusals_total{${at}, plan="free", reason="key_banned", window=""}`
const others = `tollgate_refusals_total{${at}, plan="free", reason="forbidden", window=""}`
const requests = `tollgate_requests_total{${at}, plan="free", route="/v1/*", status="200"}`
const keySet = `tollgate_jwt_keys_age_seconds{${at}, issuer="i"}`
const certificate = `tollgate_certificate_expires_seconds{${at}, use="listen"}`
const strangers = (outcome: string): string =>
  `tollgate_strangers_total{${at}, outcome="${outcome}"}`
const costs = (outcome: string): string =>
  `tollgate_answer_costs_total{${at}, outcome="${outcome}"}`

export const situations: readonly Situation[] = [
  {
    alert: 'TollgateDown',
    series: { [`up{${at}}`]: '1x4 0x20' },
    ...{ fires: '2m15s', labels: whole, silent: ['2m'] },
    calm: { [`up{${at}}`]: '1x40', 'up{instance="c:1", job="other"}': '0x40' },
  },
  {
    alert: 'TollgateStoreOutOfReach',
    series: { [`tollgate_store_fallback{${at}}`]: '0x4 1x20' },
    ...{ fires: '1m45s', labels: whole, silent: ['1m30s'] },
  },
  {
    alert: 'TollgateGatewaySlow',
    series: { [own('0.025')]: '0+985x60', [own('0.05')]: '0+1000x60', [own('+Inf')]: '0+1000x60' },
    ...{ fires: '5m15s', labels: here, silent: ['5m'] },
    calm: { [own('0.01')]: '0+900x60', [own('0.025')]: '0+991x60', [own('+Inf')]: '0+1000x60' },
  },
  {
    alert: 'TollgateTargetOut',
    series: { [target('http://b')]: '1x4 0x20', [target('http://c')]: '1x24' },
    ...{ fires: '2m15s', silent: ['2m'] },
    labels: { ...whole, target: 'http://b', upstream: 'animals' },
  },
  {
    alert: 'TollgateUpstreamDown',
    series: { [target('http://b')]: '1x4 0x20', [target('http://c')]: '0x24' },
    ...{ fires: '1m45s', labels: { ...here, upstream: 'animals' }, silent: ['1m30s'] },
    calm: { [target('http://b')]: '1x40', [target('http://c')]: '0x40' },
  },
  {
    alert: 'TollgateUpstreamFailing',
    series: {
      [answers('2xx')]: '0+94x60',
      [answers('5xx')]: '0+3x60',
      [answers('none')]: '0+3x60',
    },
    ...{ fires: '5m30s', labels: { upstream: 'animals' }, silent: ['5m15s'] },
    calm: { [answers('2xx')]: '0+96x60', [answers('5xx')]: '0+4x60', [answers('4xx')]: '0+10x60' },
  },
  {
    alert: 'TollgateUpstreamFailing',
    // Few failures, though all that there is: 12 in five minutes, then 8.
    series: { [answers('none')]: '0+0.6x60' },
    ...{ fires: '9m15s', labels: { upstream: 'animals' }, silent: ['9m'] },
    calm: { [answers('none')]: '0+0.4x60' },
  },
  {
    alert: 'TollgateManyRefusals',
    series: { [requests]: '0+100x90', [refusals]: '0+11x90', [bans]: '0+10x90' },
    ...{ fires: '15m15s', labels: { plan: 'free' }, silent: ['15m'] },
    calm: { [requests]: '0+100x90', [refusals]: '0+19x90', [others]: '0+50x90' },
  },
  {
    alert: 'TollgateManyBans',
    series: { [`tollgate_bans_total{${at}, plan="free"}`]: '0x20 5x70' },
    ...{ fires: '5m15s', labels: { plan: 'free' }, silent: ['5m', '21m'] },
    calm: { [`tollgate_bans_total{${at}, plan="free"}`]: '0x20 4x70' },
  },
  {
    alert: 'TollgateKeysGuessed',
    series: {
      [strangers('invalid_api_key')]: '0+75x80',
      [strangers('too_many_failed_attempts')]: '0+90x80',
    },
    ...{ fires: '9m45s', labels: {}, silent: ['9m30s'] },
    calm: {
      [strangers('invalid_api_key')]: '0+135x80',
      [strangers('missing_api_key')]: '0+900x80',
    },
  },
  {
    alert: 'TollgateCostsNotTold',
    series: {
      [costs('told')]: '0+90x60',
      [costs('missing')]: '0+6x60',
      [costs('capped')]: '0+4x60',
    },
    ...{ fires: '5m30s', labels: { outcome: 'missing' }, silent: ['5m15s'] },
    calm: { [costs('told')]: '0+92x60', [costs('missing')]: '0+4x60', [costs('capped')]: '0+4x60' },
  },
  {
    alert: 'TollgateCostsNotTold',
    // Few of them, though all that there is: 12 in a quarter of an hour, then 9.
    series: { [costs('malformed')]: '0+0.2x80' },
    ...{ fires: '18m', labels: { outcome: 'malformed' }, silent: ['17m'] },
    calm: { [costs('malformed')]: '0+0.15x80' },
  },
  {
    alert: 'TollgateConfigsDiffer',
    series: { [`tollgate_configs_in_force{${at}}`]: '1x4 2x40' },
    ...{ fires: '6m15s', labels: { job: 'tollgate' }, silent: ['6m'] },
    calm: { [`tollgate_configs_in_force{${at}}`]: '1x4 2x18 1x40' },
  },
  {
    alert: 'TollgateConfigRefused',
    series: { [`tollgate_config_refused{${at}}`]: '0x4 1x20' },
    ...{ fires: '2m15s', labels: whole, silent: ['2m'] },
  },
  {
    alert: 'TollgateCertificateEnds',
    series: { [certificate]: '1209660-15x60' },
    ...{ fires: '6m15s', labels: { ...whole, use: 'listen' }, silent: ['6m'] },
    calm: { [certificate]: '1209600x60' },
  },
  {
    alert: 'TollgateJwtKeysOld',
    series: { [keySet]: '3540+15x60' },
    ...{ fires: '6m15s', labels: { ...whole, issuer: 'i' }, silent: ['6m'] },
    calm: { [keySet]: '3600x60' },
  },
  {
    alert: 'TollgateSwapWentBack',
    series: { [`tollgate_swap_step{${at}, upstream="animals"}`]: '0x4 1x10 0x200' },
    ...{ fires: '4m', labels: { upstream: 'animals' }, silent: ['1m', '3m45s', '34m15s'] },
    calm: { [`tollgate_swap_step{${at}, upstream="animals"}`]: '0x60' },
  },
]
