"""Opens a WebSocket and says what it is told to, frame by frame. Prints one JSON object: what it heard."""
import json
import os
import socket
import ssl
import struct
import sys
import time

order = json.load(open(sys.argv[1]))
plain = socket.create_connection((order["host"], order["port"]), 60)
one = plain
if order["port"] == 443:
    one = ssl._create_unverified_context().wrap_socket(plain, server_hostname=order["host"])
one.settimeout(60)
lines = [f"GET {order['path']} HTTP/1.1", f"Host: {order['host']}", "Connection: Upgrade", "Upgrade: websocket"]
one.sendall("\r\n".join([*lines, *[os.path.expandvars(line) for line in order["headers"]], "", ""]).encode())
held = b""
while b"\r\n\r\n" not in held:
    part = one.recv(4096)
    if not part:
        break
    held += part
head, _, held = held.partition(b"\r\n\r\n")


def exactly(count):
    global held
    while len(held) < count:
        part = one.recv(65536)
        if not part:
            raise EOFError
        held += part
    taken, held = held[:count], held[count:]
    return taken


def hear_frame():
    first, second = exactly(2)
    length = second & 127
    if length == 126:
        (length,) = struct.unpack("!H", exactly(2))
    elif length == 127:
        (length,) = struct.unpack("!Q", exactly(8))
    return first, exactly(length).decode("latin1")


begun = None


def hear():
    """The next message as a whole, or what is said between."""
    global begun
    while True:
        first, text = hear_frame()
        if first & 15 >= 8:
            return {"first": first, "text": text}
        begun = begun or {"first": first | 128, "text": ""}
        begun["text"] += text
        if first & 128:
            whole, begun = begun, None
            return whole


def frame(said):
    """A mask that is not all zero, so that what is looked for is nowhere in the bytes as they are sent."""
    payload = os.path.expandvars(said.get("text", "")).encode("latin1") * said.get("times", 1)
    mask = bytes([7, 77, 177, 99]) if said.get("masked", True) else b""
    size = len(payload)
    bit = 128 if mask else 0
    if said.get("long") or size > 65535:
        head = struct.pack("!BBQ", said["first"], bit | 127, size)
    elif size > 125:
        head = struct.pack("!BBH", said["first"], bit | 126, size)
    else:
        head = struct.pack("!BB", said["first"], bit | size)
    if mask:
        payload = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))
    return head + mask + payload


heard = []
try:
    for said in order["say"] if b" 101 " in head[:16] else []:
        while "after" in said and not os.path.exists(said["after"]):
            time.sleep(0.05)
        bytes_ = frame(said)
        step = said.get("step", len(bytes_))
        for at in range(0, len(bytes_), step):
            one.sendall(bytes_[at : at + step])
        for _ in range(said.get("hear", 0)):
            heard.append(hear())
except (EOFError, OSError) as error:
    heard.append({"over": type(error).__name__})
print(json.dumps({"head": head.decode("latin1"), "heard": heard}))
