"""Answers with the headers it was sent, and greets whoever opens a WebSocket."""
import base64
import hashlib
import http.server

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
HEAD = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        key = self.headers.get("Sec-WebSocket-Key")
        if key is None:
            self.send_response(200)
            self.end_headers()
            return self.wfile.write(str(self.headers).encode())
        accept = base64.b64encode(hashlib.sha1((key + GUID).encode()).digest()).decode()
        self.wfile.write((HEAD + accept + "\r\n\r\n").encode() + bytes([0x81, 2]) + b"hi")
        self.rfile.read(1)


http.server.ThreadingHTTPServer(("", 8000), Handler).serve_forever()
