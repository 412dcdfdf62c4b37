/** The module that `later` comes from: it has no file. */
const RUNTIME = "\0later";

/**
 * Schemas are made when they are first looked at: a short command checks by a dozen of the contract's
 * two thousand. In the sources they are plain constants, and in a gateway they are made at once.
 * @param {typeof import("rolldown/parseAst").parseAst} parseAst
 * @returns {import("rolldown").Plugin}
 */
export function schemasLater(parseAst) {
  return {
    name: "schemas-later",
    resolveId: (id) => (id === RUNTIME ? id : undefined),
    load: (id) => (id === RUNTIME ? `export ${later}` : undefined),
    transform: {
      filter: { id: /\.ts$/, code: /\bz\.|Schema =/ },
      handler(code) {
        const makings = parseAst(code, { lang: "ts" }).body.flatMap(makingsOf);
        let changed = code;
        for (const { start, end } of makings.reverse()) {
          changed = `${changed.slice(0, start)}later(() => ${code.slice(start, end)})${changed.slice(end)}`;
        }
        return { code: `import { later } from ${JSON.stringify(RUNTIME)};${changed}` };
      },
    },
  };
}

/** What a statement's constants are made of, where they are schemas. @param {any} statement */
function makingsOf(statement) {
  const { kind, declarations } = statement.declaration ?? statement;
  if (kind !== "const") return [];
  return declarations.filter(isSchema).map((/** @type {any} */ { init }) => init);
}

/** Whatever is called one or comes from `z`, unless it is a function that makes them. @param {any} declarator */
function isSchema({ id, init }) {
  let made = init;
  while (made?.type === "TSAsExpression") made = made.expression;
  if (made?.type !== "CallExpression" && made?.type !== "MemberExpression") return false;
  let first = made;
  while (first.callee ?? first.object) first = first.callee ?? first.object;
  return /Schema$/.test(id.name ?? "") || first.name === "z";
}

/**
 * What stands in for a schema until somebody looks at it, and passes everything on from then on.
 * @param {() => object} make
 */
function later(make) {
  const { __zod_globalConfig: zod } = /** @type {any} */ (globalThis);
  if (!zod?.jitless) return make();
  /** @type {any} */
  let made;
  const real = () => {
    made ??= make();
    return made;
  };
  return new Proxy(Object.create(null), {
    get: (_, key) => real()[key],
    has: (_, key) => key in real(),
    getPrototypeOf: () => Object.getPrototypeOf(real()),
  });
}
