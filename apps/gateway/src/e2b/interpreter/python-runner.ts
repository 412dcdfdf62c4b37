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
os.environ.setdefault("MPLBACKEND", "agg")

MIMES = {
    "text/plain": "text", "text/html": "html", "text/markdown": "markdown", "image/svg+xml": "svg",
    "image/png": "png", "image/jpeg": "jpeg", "application/pdf": "pdf", "text/latex": "latex",
    "application/json": "json", "application/javascript": "javascript",
}
METHODS = {
    "_repr_html_": "html", "_repr_markdown_": "markdown", "_repr_svg_": "svg", "_repr_png_": "png",
    "_repr_jpeg_": "jpeg", "_repr_pdf_": "pdf", "_repr_latex_": "latex", "_repr_json_": "json",
    "_repr_javascript_": "javascript",
}

def plain(value):
    if isinstance(value, tuple):
        value = value[0]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value

def formats(value):
    found = {}
    try:
        bundle = value._repr_mimebundle_() if hasattr(value, "_repr_mimebundle_") else {}
        for mime, data in (bundle[0] if isinstance(bundle, tuple) else bundle or {}).items():
            found[MIMES.get(mime, mime)] = plain(data)
    except Exception:
        pass
    for name, key in METHODS.items():
        try:
            method = None if isinstance(value, type) else getattr(value, name, None)
            data = method() if callable(method) else None
            if data is not None:
                found.setdefault(key, plain(data))
        except Exception:
            pass
    pandas = sys.modules.get("pandas")
    if pandas and isinstance(value, pandas.DataFrame):
        found["data"] = json.loads(value.to_json(orient="columns"))
        found["data"] = {name: list(column.values()) for name, column in found["data"].items()}
    figure = sys.modules.get("matplotlib.figure")
    if figure and isinstance(value, figure.Figure):
        found.update(drawn(value))
    text = found.setdefault("text", repr(value))
    if isinstance(value, str) and len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        found["text"] = text[1:-1]
    return found

def drawn(figure):
    import io
    file = io.BytesIO()
    figure.savefig(file, format="png", bbox_inches="tight")
    found = {"png": base64.b64encode(file.getvalue()).decode()}
    try:
        chart = charted(figure)
        if chart:
            found["chart"] = chart
    except Exception:
        pass
    return found

def charted(figure):
    charts = [one for one in map(chart_of, figure.axes) if one]
    if len(charts) < 2:
        return charts[0] if charts else None
    title = figure._suptitle.get_text() if figure._suptitle else None
    return {"type": "superchart", "title": title, "elements": charts}

def chart_of(axes):
    head = {"title": axes.get_title() or None}
    plane = {**head, "x_label": axes.get_xlabel() or None, "y_label": axes.get_ylabel() or None, "x_unit": None, "y_unit": None}
    wedges = [one for one in axes.patches if type(one).__name__ == "Wedge"]
    if wedges:
        parts = [{"label": one.get_label(), "angle": abs(one.theta2 - one.theta1), "radius": one.r} for one in wedges]
        return {"type": "pie", **head, "elements": parts}
    points = lambda xs, ys: [[plain_number(x), plain_number(y)] for x, y in zip(xs, ys)]
    ticks = {"x_ticks": [plain_number(x) for x in axes.get_xticks()], "x_tick_labels": [t.get_text() for t in axes.get_xticklabels()],
             "x_scale": axes.get_xscale(), "y_ticks": [plain_number(y) for y in axes.get_yticks()],
             "y_tick_labels": [t.get_text() for t in axes.get_yticklabels()], "y_scale": axes.get_yscale()}
    lines = [one for one in axes.lines if len(one.get_xdata()) > 1]
    if lines:
        return {"type": "line", **plane, **ticks, "elements": [
            {"label": one.get_label(), "points": points(one.get_xdata(), one.get_ydata())} for one in lines]}
    if axes.collections:
        return {"type": "scatter", **plane, **ticks, "elements": [
            {"label": one.get_label(), "points": points(*one.get_offsets().T)} for one in axes.collections if hasattr(one, "get_offsets")]}
    bars = [bar for container in axes.containers for bar in container]
    if bars:
        labels = [t.get_text() for t in axes.get_xticklabels()]
        return {"type": "bar", **plane, "elements": [
            {"label": labels[at] if at < len(labels) else str(at), "value": str(plain_number(one.get_height())), "group": ""}
            for at, one in enumerate(bars)]}
    return None

def plain_number(value):
    return value.item() if hasattr(value, "item") else value if isinstance(value, (int, float)) else str(value)

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
