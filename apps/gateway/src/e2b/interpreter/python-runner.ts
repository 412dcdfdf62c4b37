import { PYTHON_CHANNEL } from "./python-channel.ts";
import { PYTHON_CHARTS } from "./python-charts.ts";
import { PYTHON_DISPLAY } from "./python-display.ts";
import { PYTHON_MAGICS } from "./python-magics.ts";
import { PYTHON_RESULTS } from "./python-results.ts";

/**
 * Runs cells of Python one after the other in a module of their own, with the standard library alone.
 * What it calls it holds itself, and the names that cells may replace it takes from a copy.
 */
const RUNNER = `
import ast, base64, builtins, codecs, fcntl, json, linecache, math, numbers, os, re, signal, threading, traceback, types
from os import dup2, environ, read, write

${PYTHON_CHANNEL}
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

# A failure of any length is told, and fits into a line.
LONGEST_TOLD = 1 << 20

def short(text):
    return f"{text[:LONGEST_TOLD]}… ({len(text)} letters)" if len(text) > LONGEST_TOLD else text

def failed(error):
    trace, value = error.__traceback__, "it cannot be told"
    # How a broken cell was read is nobody's concern.
    while trace and trace.tb_frame.f_code.co_filename in (HERE, ast.__file__):
        trace = trace.tb_next
    try:
        # Joined it is a text of Python's own, with no method of a cell's.
        value = "".join([str(error)])
        told = "".join(traceback.format_exception(type(error), error, trace))
    except BaseException:
        told = f"{type(error).__name__}: {value}"
    emit("error", name=short(type(error).__name__), value=short(value), traceback=short(told))

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
