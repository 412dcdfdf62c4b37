import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

/** The waist knows capabilities, never who gives them. */
const VENDORS =
  /bubblewrap|cloudflare|daytona|docker|e2b|firecracker|gvisor|kubernetes|modal|northflank|qemu|runsc|vercel/i;

/** Identifiers and strings in core that name a vendor; comments may, to explain. */
export function vendorNames(root: string): string[] {
  return globSync("packages/core/src/**/*.ts", { cwd: root }).flatMap((file) => {
    const source = ts.createSourceFile(file, readFileSync(join(root, file), "utf8"), ts.ScriptTarget.Latest);
    const found: string[] = [];
    const visit = (node: ts.Node): void => {
      const text =
        ts.isIdentifier(node) || ts.isLiteralExpression(node) || isTemplatePart(node) ? node.text : "";
      if (VENDORS.test(text)) {
        const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
        found.push(`vendor-in-core: ${file}:${line + 1} says ${JSON.stringify(text)}`);
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
    return found;
  });
}

function isTemplatePart(node: ts.Node): node is ts.TemplateHead | ts.TemplateMiddle | ts.TemplateTail {
  return ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node);
}
