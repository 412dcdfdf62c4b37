"""Says whether requests were signed by a key, as AWS describes it: a second opinion, in another language."""

import hashlib
import hmac
import json
import re
import sys
from urllib.parse import parse_qsl, quote, unquote_to_bytes


def verdict(request, keys):
    headers = {}
    for name, value in zip(request["headers"][::2], request["headers"][1::2]):
        headers.setdefault(name.lower(), []).append(" ".join(value.split()))
    [authorization] = headers.get("authorization", [""])
    found = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=([^/]+)/((\d+)/([^/]+)/([^/]+)/aws4_request), "
        r"SignedHeaders=([^,]+), Signature=(\w+)",
        authorization,
    )
    if not found:
        return "not signed"
    key_id, scope, day, region, service, names, signature = found.groups()
    if key_id != keys["id"]:
        return "another key"
    if headers.get("x-amz-security-token", [None]) != [keys.get("token")]:
        return "another token"
    signed = names.split(";")
    if signed != sorted(signed) or any(name not in headers for name in ["host", *signed]):
        return "a header is missing"
    if any(name.startswith("x-amz-") and name not in signed for name in headers):
        return "a header is not covered"
    body = request["body"].encode("latin1")
    [body_hash] = headers.get("x-amz-content-sha256", [hashlib.sha256(body).hexdigest()])
    if re.fullmatch("[0-9a-f]{64}", body_hash) and body_hash != hashlib.sha256(body).hexdigest():
        return "another body"
    method, url = request["what"].split(" ", 1)
    path, _, query = url.partition("?")
    if service == "s3":
        path = quote(unquote_to_bytes(path), safe="/~")
    else:
        path = quote(path, safe="/~")
    pairs = sorted((quote(n, safe="~"), quote(v, safe="~")) for n, v in parse_qsl(query, keep_blank_values=True))
    lines = [f"{name}:{','.join(headers[name])}" for name in signed]
    canonical = "\n".join([method, path, "&".join(f"{n}={v}" for n, v in pairs), *lines, "", names, body_hash])
    [time] = headers["x-amz-date"]
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    words = "\n".join(["AWS4-HMAC-SHA256", time, scope, digest])
    key = ("AWS4" + keys["secret"]).encode()
    for step in (day, region, service, "aws4_request", words):
        key = hmac.new(key, step.encode(), hashlib.sha256).digest()
    return "right" if key.hex() == signature else "wrong"


print(json.dumps([verdict(one, keys) for one, keys in json.load(sys.stdin)]))
