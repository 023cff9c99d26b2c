import { liftBan, listBans, setBan } from './bans.ts'
import { checkConfig } from './config/check.ts'
import { diffConfig } from './config/diff.ts'
import { editConfig } from './config/edit.ts'
import { reloadConfig, runningConfig } from './config/running.ts'
import { configFileText, saveConfig } from './config/save.ts'
import { showConfig } from './config/show.ts'
import { listGateways } from './gateways/list.ts'
import { checkJwt } from './jwt/check.ts'
import { listIssuers } from './jwt/list.ts'
import { changeKey, disableKey, enableKey, revokeKey } from './keys/change.ts'
import { createKey } from './keys/create.ts'
import { findKey } from './keys/find.ts'
import { importKeys } from './keys/import.ts'
import { listKeys } from './keys/list.ts'
import { rotateKey } from './keys/rotate.ts'
import { showKey } from './keys/show.ts'
import { keyTimeline } from './keys/timeline.ts'
import { explain } from './explain.ts'
import { now } from './now.ts'
import { listNotices, testNotices } from './notices.ts'
import type { Operation } from './operation.ts'
import { prove } from './prove.ts'
import { showDemand } from './plans/demand.ts'
import { listPlans } from './plans/list.ts'
import { previewLimits } from './plans/preview.ts'
import { listTopUps, topUpQuota } from './quota/top-ups.ts'
import { grantQuota, resetQuota, setQuotaMonth } from './quota/changes.ts'
import { showQuota } from './quota/show.ts'
import { listAudit } from './reports/audit.ts'
import { deprecationDays, reportDeprecations } from './reports/deprecations.ts'
import { exportUsage } from './reports/usage-export.ts'
import { showUsage } from './reports/usage.ts'
import { showRequest } from './requests/show.ts'
import { reportShadow } from './shadow/report.ts'
import { backupStore } from './store/backup.ts'
import { copyToStore } from './store/copy.ts'
import { dumpStore, loadStore } from './store/dump.ts'
import { checkUpstream } from './upstream/check.ts'
import { listUpstreams } from './upstream/list.ts'
import { callBackSwap, finishSwap, pauseSwap, resumeSwap, swapStatus } from './upstream/swap.ts'

/** All operations, in the order of the command line's help. */
export const operations: readonly Operation[] = [
  explain,
  showRequest,
  now,
  createKey,
  listKeys,
  showKey,
  findKey,
  keyTimeline,
  changeKey,
  rotateKey,
  revokeKey,
  disableKey,
  enableKey,
  importKeys,
  listIssuers,
  checkJwt,
  listBans,
  liftBan,
  setBan,
  showQuota,
  resetQuota,
  grantQuota,
  topUpQuota,
  listTopUps,
  setQuotaMonth,
  exportUsage,
  showUsage,
  listAudit,
  listPlans,
  previewLimits,
  showDemand,
  reportShadow,
  checkUpstream,
  swapStatus,
  pauseSwap,
  resumeSwap,
  callBackSwap,
  finishSwap,
  listUpstreams,
  listGateways,
  listNotices,
  testNotices,
  reportDeprecations,
  deprecationDays,
  prove,
  checkConfig,
  showConfig,
  diffConfig,
  runningConfig,
  reloadConfig,
  editConfig,
  configFileText,
  saveConfig,
  dumpStore,
  loadStore,
  copyToStore,
  backupStore,
]
