"""Sends a word to every host, in every place, by every method, with and without TLS. Prints how each was answered."""
import itertools
import json
import os
import socket
import ssl
import sys

order = json.load(open(sys.argv[1]))
word = os.environ["MODEL_KEY"]
trusting = ssl._create_unverified_context()

PLACES = {
    "listed": ("/v1/x", f"x-api-key: {word}\r\n", ""),
    "other": ("/v1/x", f"x-other: {word}\r\n", ""),
    "query": (f"/v1/x?key={word}", "", ""),
    "path": (f"/v1/{word}", "", ""),
    "body": ("/v1/x", "", word),
    "socket": ("/v1/x", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n", ""),
}


def ask(host, place, method, scheme):
    target, headers, body = PLACES[place]
    case = f"{host} {place} {method} {scheme}"
    head = f"{method} {target} HTTP/1.1\r\nHost: {host}\r\nx-case: {case}\r\n{headers}"
    if place != "socket":
        head += f"Connection: close\r\nContent-Length: {len(body)}\r\n"
    try:
        with socket.create_connection((host, 443 if scheme == "https" else 80), 20) as plain:
            one = plain
            if scheme == "https":
                one = trusting.wrap_socket(plain, server_hostname=host.rstrip("."))
            one.sendall(f"{head}\r\n{body}".encode())
            answer = one.recv(4096).decode("latin1").split("\r\n")[0].split(" ")[1]
            if answer != "101":
                return answer
            one.sendall(bytes([0x81, 0x80 | len(word), 0, 0, 0, 0]) + word.encode())
            said = one.recv(4096)
            return "closed" if said[:1] == b"\x88" else said.decode("latin1")
    except (OSError, IndexError) as error:
        return type(error).__name__


cases = itertools.product(order["hosts"], PLACES, ["GET", "POST"], ["https", "http"])
print(json.dumps({" ".join(case): ask(*case) for case in cases}))
