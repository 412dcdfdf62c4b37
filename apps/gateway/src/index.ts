export { backupHome, restoreHome } from "./backup.ts";
export { type Gateway, type GatewayOptions, openGateway } from "./compose.ts";
export { loadConfig } from "./config/load.ts";
export { createLog, type Log, type LogRecord, silent } from "./log.ts";
export { untilSignal } from "./until-signal.ts";
