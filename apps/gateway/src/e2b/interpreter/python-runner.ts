import { PYTHON_CHARTS } from "./python-charts.ts";
import { PYTHON_DISPLAY } from "./python-display.ts";
import { PYTHON_MAGICS } from "./python-magics.ts";
import { PYTHON_RESULTS } from "./python-results.ts";

/**
 * Runs cells of Python one after the other in a module of their own, with the standard library alone.
 * What to run comes as lines of JSON on standard input; what becomes of it goes as lines of JSON to
 * what was standard output. Programs that cells start write to pipes, so that they cannot forge a
 * line. What it calls it holds itself, and the names that cells may replace it takes from a copy.
 */
const RUNNER = String.raw`
import ast, base64, builtins, codecs, fcntl, json, linecache, math, numbers, os, re, signal, threading, traceback, types
from os import dup2, environ, read, write

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
out, err = Pipe(1, "stdout"), Pipe(2, "stderr")
sys.stdout, sys.stderr, sys.stdin = out.stream, err.stream, open(os.devnull)
module = types.ModuleType("__main__")
space = vars(module)
space["__builtins__"] = builtins
sys.modules["__main__"] = module
loop = None
COROUTINE = 0x80

${PYTHON_RESULTS}
${PYTHON_CHARTS}
${PYTHON_DISPLAY}
${PYTHON_MAGICS}
def awaited(value):
    global loop
    import asyncio
    if loop is None or loop.is_closed():
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
    task = loop.create_task(value)
    try:
        return loop.run_until_complete(task)
    except BaseException:
        # One that was interrupted does not go on in the next cell.
        if task.cancel():
            loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
        raise

def evaluated(tree, name, mode):
    compiled = compile(tree, name, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    value = eval(compiled, space)
    return awaited(value) if compiled.co_flags & COROUTINE else value

def run(code, name):
    tree = parsed(code, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    evaluated(tree, name, "exec")
    value = None if last is None else evaluated(ast.Expression(last.value), name, "eval")
    return None if code.rstrip().endswith(";") else value

def failed(error):
    trace, value = error.__traceback__, "it cannot be told"
    # How a broken cell was read is nobody's concern.
    while trace and trace.tb_frame.f_code.co_filename in (HERE, ast.__file__):
        trace = trace.tb_next
    try:
        value = str(error)
        told = "".join(traceback.format_exception(type(error), error, trace))
    except BaseException:
        told = f"{type(error).__name__}: {value}"
    emit("error", name=type(error).__name__, value=value, traceback=told)

def attempt(action, *given):
    try:
        action(*given)
    except BaseException as error:
        now.running = False
        if os.getpid() != home:
            leave(error)
        failed(error)
        return False
    return True

# A child that came out of a cell ends with it, as one of any program would: the rest is its parent's.
def leave(error):
    if not isinstance(error, SystemExit):
        traceback.print_exception(type(error), error, error.__traceback__)
    for stream in (sys.stdout, sys.stderr):
        quietly(stream.flush)
    os._exit(0 if isinstance(error, SystemExit) else 1)

def answer(code, name):
    value = run(code, name)
    if os.getpid() != home:
        sys.exit()
    if value is not None:
        keep(value)
        show(value, True)

def cell(asked, count):
    code, env, name = indented_less(asked["code"]), asked.get("env") or {}, f"<cell {count}>"
    before = {one: environ.get(one) for one in env}
    out.renew("stdout"), err.renew("stderr")
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    emit("number_of_executions", execution_count=count)
    now.late, now.running = False, True
    # What a broken cell has drawn is shown too; it is said once that it is broken.
    if attempt(environ.update, env) and attempt(answer, code, name):
        attempt(figures)
    else:
        figures(True)
    now.running = False
    for one, value in before.items():
        environ.pop(one, None) if value is None else environ.__setitem__(one, value)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    out.drain(), err.drain()
    emit("end_of_execution")

sys.argv = [""]
sys.path.insert(0, "")
for count, line in enumerate(requests, 1):
    cell(decode(line.decode())[0], count)
`;

/** Names of files beside a cell are no modules of the runner's, and its frames are none of a cell's. */
const BOOT = `
import sys
sys.path[:] = [one for one in sys.path if one]
names = {"__name__": "runner", "__builtins__": dict(vars(__import__("builtins"))), "sys": sys, "HERE": "<runner>"}
exec(compile(sys.argv[1], names["HERE"], "exec"), names)
`;

export const PYTHON_RUNNER = ["python3", "-u", "-c", BOOT, RUNNER] as const;
