"""What a hostile program would try, without any of a library's politeness. Prints one JSON object."""
import json
import socket
import struct
import sys
import time


def tcp(host, port, payload=None, wait=3.0):
    started = time.time()
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as one:
            # Who is asked something may take long to answer; silence counts from then on.
            one.settimeout(wait if payload is None else max(wait, 60))
            one.connect((host, port))
            if payload is not None:
                one.sendall(payload)
            got = b""
            closed = False
            try:
                while not closed:
                    part = one.recv(65536)
                    got += part
                    closed = not part
                    one.settimeout(wait)
            except socket.timeout:
                pass
            return {"got": got.decode("latin1"), "closed": closed, "seconds": time.time() - started}
    except OSError as error:
        return {"error": type(error).__name__, "errno": error.errno, "seconds": time.time() - started}


def udp(host, port, wait=1.0):
    started = time.time()
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as one:
            one.settimeout(wait)
            one.connect((host, port))
            one.send(b"\x07\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04evil\x04test\x00\x00\x10\x00\x01")
            return {"got": one.recv(512).decode("latin1")}
    except OSError as error:
        return {"error": type(error).__name__, "errno": error.errno, "seconds": time.time() - started}


def kinds():
    found = {}
    wanted = {
        "icmp": (socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP),
        "raw": (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
        "icmp6": (socket.AF_INET6, socket.SOCK_DGRAM, socket.IPPROTO_ICMPV6),
        "packet": (socket.AF_PACKET, socket.SOCK_RAW, 0),
        "sctp": (socket.AF_INET, socket.SOCK_STREAM, 132),
    }
    for name, how in wanted.items():
        try:
            with socket.socket(*how) as one:
                if name == "icmp":
                    one.settimeout(1)
                    one.sendto(struct.pack("!BBHHH", 8, 0, 0, 1, 1), ("93.184.216.34", 1))
                    one.recv(64)
            found[name] = "made"
        except OSError as error:
            found[name] = type(error).__name__
    return found


def say(host, port, pieces, wait=30.0, whole=False):
    """Each piece is said once the one before was answered; what was heard, piece by piece, the last one to its end."""
    heard = []
    try:
        with socket.create_connection((host, port), wait) as one:
            for piece in pieces:
                one.sendall(piece.encode("latin1"))
                try:
                    heard.append(one.recv(65536).decode("latin1"))
                except socket.timeout:
                    heard.append("")
                if not heard[-1]:
                    break
            while whole and len(heard) == len(pieces) and heard[-1]:
                part = one.recv(65536).decode("latin1")
                if not part:
                    break
                heard[-1] += part
    except OSError as error:
        return {"heard": heard, "error": type(error).__name__}
    return {"heard": heard}


order = json.load(open(sys.argv[1]))
if order["op"] == "kinds":
    answer = kinds()
elif order["op"] == "say":
    answer = [say(one["host"], one["port"], one["pieces"], one.get("wait", 30.0), one.get("whole", False)) for one in order["all"]]
elif order["op"] == "tcp":
    answer = [tcp(host, port, order.get("payload", "").encode("latin1") or None, order.get("wait", 3.0)) for host, port in order["to"]]
else:
    answer = [udp(host, port) for host, port in order["to"]]
print(json.dumps(answer))
