import { errorAnswerSchema } from "@sandboxer/contract";
import { fromJson, rebuild, strange } from "./failure.ts";
import { LineReader } from "./lines.ts";

interface Shape<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false; error: unknown };
}

/** An answer that comes value by value, one a line; the last may say why there are no more. */
export async function* valuesOf<T>(response: Response, shape: Shape<T>): AsyncGenerator<T> {
  if (!response.body) throw strange("the answer has no body");
  const lines = new LineReader(response.body);
  try {
    for (;;) {
      const line = await lines.next();
      if (line === undefined) return;
      if (line !== "") yield readValue(line, shape);
    }
  } finally {
    await lines.cancel();
  }
}

function readValue<T>(line: string, shape: Shape<T>): T {
  const value = fromJson(line);
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  const failure = errorAnswerSchema.safeParse(value);
  if (failure.success) throw rebuild(failure.data.error);
  throw strange("a line of the answer is in a form this client does not know", parsed.error);
}
