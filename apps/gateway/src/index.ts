export { backupHome, restoreHome } from "./backup.ts";
export {
  ensureBlockStore,
  findBlockStore,
  makeBlockStore,
  STORE_FAIL_POINTS,
  unmountBlockStore,
} from "./block-store.ts";
export { type Gateway, type GatewayOptions, openGateway } from "./compose.ts";
export { loadConfig } from "./config/load.ts";
export { createLog, type Log, type LogRecord, silent } from "./log.ts";
export { untilSignal } from "./until-signal.ts";
