import { expect, it } from "vitest";
import { binding, writtenAs } from "./secret.ts";

it.each([
  "api.example.com header:x-api-key",
  "api.example.com/v1/** header:x-api-key",
  "api.example.com:8443/v1/* query:key",
  "git.example.com ssh:ask",
  "bucket.example.com aws-sigv4:eu-west-1/s3",
])("writes %s as it is given", (text) => {
  expect(binding(text).map(writtenAs)).toEqual([text]);
});
