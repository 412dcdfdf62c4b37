import { PYTHON_RESULTS } from "./python-results.ts";

/**
 * Runs cells of Python one after the other in one namespace, with the standard library alone. What
 * to run comes as lines of JSON on standard input; what becomes of it goes as lines of JSON to what
 * was standard output. Programs that cells start write to pipes, so that they cannot forge a line.
 */
export const PYTHON_RUNNER = String.raw`
import ast, base64, json, os, re, sys, threading, traceback

channel = os.fdopen(os.dup(1), "wb", buffering=0)
lock = threading.Lock()

def emit(kind, **more):
    line = json.dumps({"type": kind, **more}, default=str).encode() + b"\n"
    with lock:
        channel.write(line)

class Pipe:
    def __init__(self, fd, kind):
        self.kind, self.seen, self.mark = kind, threading.Event(), os.urandom(16).hex().encode()
        self.reader, writer = os.pipe()
        os.dup2(writer, fd)
        os.close(writer)
        self.fd = fd
        threading.Thread(target=self.pump, daemon=True).start()

    def pump(self):
        held = b""
        while True:
            part = os.read(self.reader, 65536)
            if not part:
                return
            held += part
            while self.mark in held:
                before, held = held.split(self.mark, 1)
                self.tell(before, True)
                self.seen.set()
            keep = self.partial(held)
            ready, held = held[:len(held) - keep], held[len(held) - keep:]
            held = self.tell(ready, False) + held

    def partial(self, data):
        for size in range(min(len(self.mark) - 1, len(data)), 0, -1):
            if data.endswith(self.mark[:size]):
                return size
        return 0

    def tell(self, data, whole):
        text = data.decode("utf-8", "replace" if whole else "surrogateescape")
        rest = b""
        while not whole and text and "\udc80" <= text[-1] <= "\udcff" and len(rest) < 3:
            rest, text = text[-1].encode("utf-8", "surrogateescape") + rest, text[:-1]
        if text:
            emit(self.kind, text=text.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
        return rest

    def drain(self):
        self.seen.clear()
        os.write(self.fd, self.mark)
        self.seen.wait(10)

out, err = Pipe(1, "stdout"), Pipe(2, "stderr")
sys.stdout = open(1, "w", buffering=1, closefd=False, errors="replace")
sys.stderr = open(2, "w", buffering=1, closefd=False, errors="replace")
sys.stdin = open(os.devnull)
os.environ.setdefault("MPLBACKEND", "module://figures_here")

${PYTHON_RESULTS}
def show(value, main):
    emit("result", is_main_result=main, **formats(value))

def display(*values, **_):
    for value in values:
        show(value, False)

def figures():
    pyplot = sys.modules.get("matplotlib.pyplot")
    if not pyplot:
        return
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        emit("result", is_main_result=False, text=repr(figure), **drawn(figure))
        pyplot.close(figure)

class Figures(type(sys)):
    def __getattr__(self, name):
        import matplotlib.backends.backend_agg as agg
        for key, value in vars(agg).items():
            self.__dict__.setdefault(key, value)
        return getattr(agg, name)

sys.modules["figures_here"] = Figures("figures_here")
sys.modules["figures_here"].show = lambda *_, **__: figures()

def shell(command):
    import subprocess
    sys.stdout.flush()
    subprocess.run(["/bin/bash", "-c", command], stdin=subprocess.DEVNULL)

space = {"__name__": "__main__", "__builtins__": __builtins__, "display": display, "_shell": shell}
sys.modules["__main__"].__dict__.update(space)
space = sys.modules["__main__"].__dict__
loop = None
COROUTINE = 0x80

def awaited(value):
    global loop
    import asyncio
    if loop is None:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
    return loop.run_until_complete(value)

def translated(code):
    def line(found):
        return f"{found[1]}_shell({found[2]!r})"
    code = re.sub(r"^([ \t]*)!(.+)$", line, code, flags=re.M)
    return re.sub(r"^([ \t]*)%(pip .+)$", line, code, flags=re.M)

def run(code, name):
    tree = ast.parse(translated(code), name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    def evaluate(compiled):
        value = eval(compiled, space)
        return awaited(value) if compiled.co_flags & COROUTINE else value
    evaluate(compile(tree, name, "exec", flags=flags))
    if last is None:
        return None
    source = code.rstrip()
    value = evaluate(compile(ast.Expression(last.value), name, "eval", flags=flags))
    return None if source.endswith(";") else value

def cell(asked, count):
    code, env = asked["code"], asked.get("env") or {}
    before = {name: os.environ.get(name) for name in env}
    os.environ.update(env)
    name = f"<cell {count}>"
    import linecache
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    emit("number_of_executions", execution_count=count)
    try:
        value = run(code, name)
        if value is not None:
            space["_"] = value
            show(value, True)
            if type(value).__name__ == "Figure" and "matplotlib.pyplot" in sys.modules:
                sys.modules["matplotlib.pyplot"].close(value)
        figures()
    except BaseException as error:
        trace = error.__traceback__
        while trace and trace.tb_frame.f_code.co_filename == "<string>":
            trace = trace.tb_next
        text = "".join(traceback.format_exception(type(error), error, trace))
        emit("error", name=type(error).__name__, value=str(error), traceback=text)
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass
        out.drain()
        err.drain()
        emit("end_of_execution")

count = 0
requests = os.fdopen(os.dup(0), "rb", buffering=1 << 16)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
while True:
    try:
        line = requests.readline()
        if not line:
            break
        count += 1
        cell(json.loads(line), count)
    except KeyboardInterrupt:
        emit("end_of_execution")
`;
