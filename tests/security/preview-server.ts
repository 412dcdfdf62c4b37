/** What listens inside: tells what it was asked, speaks a little WebSocket, and says too much. */
export const SERVER_INSIDE = `
import base64, hashlib, json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *rest): pass
    def do_GET(self):
        if self.headers.get("upgrade"): return self.socket()
        length = int(self.headers.get("content-length") or 0)
        told = {"method": self.command, "path": self.path, "headers": dict(self.headers),
                "body": self.rfile.read(length).decode()}
        body = b"x" * 3000000 if self.path == "/long" else json.dumps(told).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        if self.path == "/cookies":
            self.send_header("set-cookie", "app=1; Domain=preview.localhost; Path=/")
            self.send_header("set-cookie", "sandboxer-preview=stolen; Path=/")
            self.send_header("strict-transport-security", "max-age=1")
        self.end_headers()
        self.wfile.write(body)
    do_POST = do_GET
    def socket(self):
        key = self.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("upgrade", "websocket")
        self.send_header("connection", "Upgrade")
        self.send_header("sec-websocket-accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        head = self.rfile.read(2)
        mask = self.rfile.read(4)
        data = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(head[1] & 127)))
        said = self.path.encode() + b" " + data
        self.wfile.write(bytes([0x81, len(said)]) + said)
        self.rfile.read(1)
        self.close_connection = True

ThreadingHTTPServer(("127.0.0.1", 3000), Handler).serve_forever()
`;
