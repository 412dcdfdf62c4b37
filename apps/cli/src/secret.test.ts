import { expect, it } from "vitest";
import { binding, writtenAs } from "./secret.ts";

it.each([
  "api.example.com header:x-api-key",
  "api.example.com/v1/** header:x-api-key",
  "api.example.com:8443/v1/* query:key",
])("writes %s as it is given", (text) => {
  expect(binding(text).map(writtenAs)).toEqual([text]);
});
