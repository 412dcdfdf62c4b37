/**
 * The rooms of the house and who may import whom: one row a room, as in docs/architecture.md.
 * `rooms` are other rooms; `node` is `node:*`; `npm` is `true` for any package, or the only ones.
 */
const ROOMS = [
  { name: "contract", at: "packages/contract", rooms: [], node: false, npm: ["zod"] },
  { name: "core", at: "packages/core", rooms: ["packages/contract"], node: true, npm: [] },
  { name: "egress", at: "packages/egress", rooms: ["packages/contract"], node: true, npm: true },
  { name: "extensions", at: "packages/extensions", rooms: ["packages/contract"], node: true, npm: true },
  { name: "sdk", at: "packages/sdk", rooms: ["packages/contract"], node: false, npm: [] },
  {
    name: "gateway",
    at: "apps/gateway",
    rooms: ["packages/contract", "packages/core", "packages/egress", "packages/extensions"],
    node: true,
    npm: true,
  },
  // The gateway is the cli's one door, held ajar by `cli-opens-the-gateway-lazily` below.
  {
    name: "cli",
    at: "apps/cli",
    rooms: ["packages/contract", "packages/sdk", "apps/gateway"],
    node: true,
    npm: true,
  },
  {
    name: "console",
    at: "apps/console",
    rooms: ["packages/contract", "packages/sdk"],
    node: false,
    npm: true,
  },
];

const TEST = "\\.test\\.ts$";
const NPM = ["npm", "npm-dev", "npm-optional", "npm-peer", "npm-no-pkg", "npm-unknown"];

/** Unit tests keep to their room's arrows; only vitest, fast-check and the like are theirs besides. */
const roomRules = ROOMS.flatMap(({ name, at, rooms, node, npm }) => [
  {
    name: `${name}-rooms`,
    severity: "error",
    comment: `${name} may import ${rooms.join(", ") || "no other room"}`,
    from: { path: `^${at}/` },
    to: {
      path: "^(packages|apps)/",
      pathNot: [at, ...rooms].map((room) => `^${room}/`),
    },
  },
  ...(node
    ? []
    : [
        {
          name: `${name}-without-node`,
          severity: "error",
          comment: `${name} runs in a browser too`,
          from: { path: `^${at}/`, pathNot: TEST },
          to: { dependencyTypes: ["core"] },
        },
      ]),
  ...(npm === true
    ? []
    : [
        {
          name: `${name}-packages`,
          severity: "error",
          comment: `${name} may use ${npm.join(", ") || "no npm package"}`,
          from: { path: `^${at}/`, pathNot: [TEST, `^${at}/src/conformance/`] },
          to: { dependencyTypes: NPM, pathNot: npm.map((one) => `node_modules/${one}/`) },
        },
      ]),
]);

module.exports = {
  forbidden: [
    ...roomRules,
    {
      name: "conformance-packages",
      severity: "error",
      comment: "the published suite stands on vitest and zod",
      from: { path: "^packages/contract/src/conformance/" },
      to: { dependencyTypes: NPM, pathNot: ["node_modules/vitest/", "node_modules/zod/"] },
    },
    {
      name: "extensions-apart",
      severity: "error",
      comment: "an extension may use _kit, never another extension",
      from: { path: "^packages/extensions/src/([^/]+)/" },
      to: { path: "^packages/extensions/src/", pathNot: "^packages/extensions/src/(?:$1|_kit)/" },
    },
    {
      name: "cli-opens-the-gateway-lazily",
      severity: "error",
      comment: "only `up` and `run` need the gateway: by dynamic import, and by its door",
      from: { path: "^apps/cli/" },
      to: { path: "^apps/gateway/", dynamic: false },
    },
    {
      name: "nobody-imports-the-workbench",
      severity: "error",
      comment: "bench, scripts and tests are outside what we ship",
      from: { path: "^(packages|apps)/", pathNot: TEST },
      to: { path: "^(bench|scripts|tests)/" },
    },
    {
      name: "unit-tests-borrow-capabilities-only",
      severity: "error",
      comment: "of the workbench, a unit test may use tests/capabilities",
      from: { path: `^(packages|apps)/.*${TEST}` },
      to: { path: "^(bench|scripts|tests)/", pathNot: "^tests/capabilities/" },
    },
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    {
      name: "resolvable",
      severity: "error",
      comment: "what cannot be resolved was not checked",
      from: { path: "^(packages|apps)/" },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "(^|/)(target|coverage|dist)/" },
    // A type-only import is an arrow too.
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "types"] },
  },
};
