import { errorAnswerSchema, type FileChange, type FileWatch, fileChangeSchema } from "@sandboxer/contract";
import { fromJson, rebuild, strange } from "./failure.ts";
import { LineReader } from "./lines.ts";

export async function openWatch(response: Response): Promise<FileWatch> {
  if (!response.body) throw strange("the answer to watch has no body");
  const lines = new LineReader(response.body);
  let isClosed = false;
  async function* changes(): AsyncGenerator<FileChange> {
    try {
      for (;;) {
        const line = await lines.next();
        if (line === undefined) return;
        if (line !== "") yield changeOf(line);
      }
    } catch (error) {
      if (!isClosed) throw error;
    } finally {
      await lines.cancel();
    }
  }
  return {
    changes: changes(),
    close() {
      isClosed = true;
      void lines.cancel();
    },
  };
}

function changeOf(line: string): FileChange {
  const value = fromJson(line);
  const change = fileChangeSchema.safeParse(value);
  if (change.success) return change.data;
  const failure = errorAnswerSchema.safeParse(value);
  if (failure.success) throw rebuild(failure.data.error);
  throw strange("a change is in a form this client does not know", change.error);
}
