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
  return declarations.flatMap(madeOf);
}

/** The constant itself, or those of its fields that are schemas. @param {any} declarator */
function madeOf({ id, init }) {
  const made = withoutType(init);
  if (made?.type !== "ObjectExpression") return isSchema(made, id.name) ? [init] : [];
  return made.properties.flatMap((/** @type {any} */ { value }) => (isSchema(value) ? [value] : []));
}

/** @param {any} expression */
function withoutType(expression) {
  let bare = expression;
  while (bare?.type === "TSAsExpression" || bare?.type === "TSSatisfiesExpression") bare = bare.expression;
  return bare;
}

/**
 * Whatever is called one, comes from `z` or is one that may be left out, unless it is a function that
 * makes them. What else is done with one may give anything.
 * @param {any} made
 * @param {string} name
 */
function isSchema(made, name = "") {
  if (made?.type !== "CallExpression" && made?.type !== "MemberExpression") return false;
  let first = made;
  while (first.callee ?? first.object) first = first.callee ?? first.object;
  const mayBeLeftOut = /Schema$/.test(first.name ?? "") && made.callee?.property?.name === "optional";
  return /Schema$/.test(name) || first.name === "z" || mayBeLeftOut;
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
