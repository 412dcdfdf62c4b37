/**
 * How the runner of Python hears and speaks. What to run comes as lines of JSON on what was standard
 * input; what becomes of it goes as lines of JSON to what was standard output. Cells and the programs
 * that they start write to pipes, so that they cannot forge a line.
 */
export const PYTHON_CHANNEL = String.raw`
encode, decode = json.JSONEncoder(allow_nan=False).encode, json.JSONDecoder().raw_decode
LONGEST_LINE = 48 << 20
main, home, lock = threading.get_ident(), os.getpid(), threading.Lock()

def aside(fd):
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 200)

channel = aside(1)
now = types.SimpleNamespace(running=False, telling=False, late=False, last=None)

def interrupted(*_):
    if now.telling:
        now.late = True
    elif now.running:
        now.running = False
        raise KeyboardInterrupt

def after_fork():
    global lock
    lock = threading.Lock()

signal.signal(signal.SIGINT, interrupted)
os.register_at_fork(after_in_child=after_fork)

def emit(kind, **more):
    line = encode({"type": kind, **more})
    if len(line) > LONGEST_LINE:
        raise ValueError(f"a result of {len(line) >> 20} MiB is more than the {LONGEST_LINE >> 20} MiB that are told")
    rest, mine = memoryview(line.encode() + b"\n"), threading.get_ident() == main
    # Half a line would spoil the next one: whoever interrupts waits for the rest.
    now.telling = now.telling or mine
    try:
        with lock:
            while rest:
                rest = rest[write(channel, rest):]
    finally:
        if mine:
            now.telling = False
            if now.late and now.running:
                now.late = now.running = False
                raise KeyboardInterrupt

class Pipe:
    def __init__(self, fd, kind):
        self.fd, self.kind, self.unseen, self.mark = fd, kind, threading.Lock(), os.urandom(16).hex().encode()
        reader, writer = os.pipe()
        self.reader, self.writer = aside(reader), aside(writer)
        os.close(reader), os.close(writer), dup2(self.writer, fd)
        self.stream = self.opened()
        threading.Thread(target=self.pump, daemon=True).start()

    def opened(self):
        return open(self.fd, "w", buffering=1, closefd=False, encoding="utf-8", errors="replace")

    def pump(self):
        text, held = codecs.getincrementaldecoder("utf-8")("replace"), b""
        while part := read(self.reader, 65536):
            *whole, held = (held + part).split(self.mark)
            for one in whole:
                self.tell(text.decode(one, True))
                if self.unseen.locked():
                    self.unseen.release()
            sizes = range(min(len(self.mark) - 1, len(held)), 0, -1)
            keep = next((size for size in sizes if held.endswith(self.mark[:size])), 0)
            ready, held = held[:len(held) - keep], held[len(held) - keep:]
            self.tell(text.decode(ready))

    def tell(self, text):
        if text:
            emit(self.kind, text=text)

    def renew(self, name):
        try:
            os.fstat(self.fd)
        except OSError:
            dup2(self.writer, self.fd)
        if self.stream.closed:
            replaced, self.stream = self.stream, self.opened()
            if getattr(sys, name, None) in (replaced, None):
                setattr(sys, name, self.stream)

    def drain(self):
        self.unseen.acquire(False)
        write(self.writer, self.mark)
        self.unseen.acquire(timeout=10)

requests = os.fdopen(aside(0), "rb")
dup2(os.open(os.devnull, os.O_RDONLY), 0)
`;
