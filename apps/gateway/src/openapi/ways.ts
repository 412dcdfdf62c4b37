import {
  EXEC_PROTOCOL,
  execCommandSchema,
  execOpenSchema,
  execReplySchema,
  KEY_PROTOCOL_PREFIX,
} from "@sandboxer/contract";
import { sandboxParams } from "../rest/parameters.ts";
import { failureResponse, failuresOf } from "./failures.ts";
import { jsonSchemaOf, refTo } from "./json-schema.ts";
import { parametersOf } from "./operation.ts";

/** A way in that is no route of the table: `x-way` says what it is instead. */
interface Way {
  readonly method: "get";
  readonly path: string;
  readonly operation: object;
}

const text = (name: string, place: "header" | "path", description: string, example: string) => ({
  name,
  in: place,
  required: true,
  description,
  schema: { type: "string" },
  example,
});

/** The same path as `POST`, and guarded the same before the connection becomes a WebSocket. */
function execSocket(): Way {
  const path = "/v1/sandboxes/{id}/exec";
  const failures = failuresOf({ method: "GET", path, operation: "sandbox.exec", params: sandboxParams });
  const offered = `\`${EXEC_PROTOCOL}\`; where no header can be set, also the key: \`${KEY_PROTOCOL_PREFIX}<base64url>\`.`;
  return {
    method: "get",
    path,
    operation: {
      operationId: "openExecSocket",
      tags: ["processes"],
      summary: "Run a command over a WebSocket",
      description:
        "One connection for a command's input, output, signals and terminal size. `x-messages` holds the words; output is binary, a channel in one byte and the offset in eight before it; input too, an id in four bytes before it.",
      "x-operation": "sandbox.exec",
      "x-way": "websocket",
      "x-messages": {
        first: jsonSchemaOf(execOpenSchema, "input"),
        client: jsonSchemaOf(execCommandSchema, "input"),
        gateway: jsonSchemaOf(execReplySchema, "output"),
      },
      parameters: [
        ...parametersOf(sandboxParams, "path"),
        text("Upgrade", "header", "Always `websocket`.", "websocket"),
        text("Sec-WebSocket-Protocol", "header", offered, EXEC_PROTOCOL),
      ],
      responses: {
        "101": { description: "The connection is a WebSocket from here on." },
        ...Object.fromEntries(
          [...failures].map(([status, codes]) => [status, failureResponse(status, codes, refTo("Error"))]),
        ),
        default: { description: "Anything else that was refused.", content: asError },
      },
    },
  };
}

const asError = { "application/json": { schema: refTo("Error") } };

/** Whoever has the address has the port, whatever it speaks; there is nothing of the API behind it. */
function preview(): Way {
  return {
    method: "get",
    path: "/preview/{token}/{rest}",
    operation: {
      operationId: "visitPreview",
      tags: ["ports"],
      summary: "Visit a port inside, by the path of its preview",
      description:
        "Every method and WebSockets pass, and `rest` may hold slashes. The other address of a preview, `url`, is a host of its own and the same otherwise.",
      security: [],
      "x-way": "preview",
      parameters: [
        text("token", "path", "As in the preview's `pathUrl`.", "eyJrZXkiOiJr.c2lnbmF0dXJl"),
        text("rest", "path", "Where to, inside.", "index.html"),
      ],
      responses: {
        "401": { description: "The token is wrong, or its time is up.", content: asError },
        default: { description: "What listens inside answered." },
      },
    },
  };
}

export function waysIn(): readonly Way[] {
  return [execSocket(), preview()];
}
