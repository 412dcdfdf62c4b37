/**
 * What a cell may say that Python does not know: lines for a shell and the common magics of Jupyter.
 * A line is taken for one only where Python itself has stumbled over it, so that no text is touched.
 */
export const PYTHON_MAGICS = String.raw`
class UsageError(Exception):
    pass

SPOKEN = re.compile(r"^([ \t]*)(?:([^\W\d][\w., ]*?)[ \t]*=[ \t]*)?(!!?|%)[ \t]*(.*)$", re.S)

def indented_less(code):
    first = next((line for line in code.splitlines() if line.strip()), "")
    margin = first[:len(first) - len(first.lstrip())]
    return re.sub(f"^{margin}", "", code, flags=re.M) if margin else code

def python_of(line):
    found = SPOKEN.match(line)
    if not found:
        return None
    margin, names, mark, text = found.groups()
    name, _, rest = text.partition(" ")
    call = f"run_line_magic({name!r}, {rest!r})" if mark == "%" else f"getoutput({text!r})" if names or mark == "!!" else f"system({text!r})"
    return f"{margin}{names + ' = ' if names else ''}get_ipython().{call}"

def parsed(code, name):
    if code.lstrip().startswith("%%"):
        first, _, body = code.lstrip().partition("\n")
        kind, _, rest = first[2:].partition(" ")
        code = f"get_ipython().run_cell_magic({kind.strip()!r}, {rest!r}, {body!r})"
    lines = code.split("\n")
    for _ in lines:
        try:
            return ast.parse("\n".join(lines), name)
        except SyntaxError as error:
            at = end = (error.lineno or 0) - 1
            if not 0 <= at < len(lines):
                raise
            while lines[end].endswith("\\") and end + 1 < len(lines):
                end += 1
            spoken = python_of("\n".join(lines[at:end + 1]))
            if spoken is None:
                raise
            lines[at:end + 1] = [spoken] + [""] * (end - at)
    return ast.parse("\n".join(lines), name)

def expanded(text, frame):
    def value(found):
        names = {**frame.f_globals, **frame.f_locals}
        if found[2] is not None:
            return str(names[found[2]]) if found[2] in names else found[0]
        try:
            return str(eval(found[1], names))
        except Exception:
            return found[0]
    return re.sub(r"\{([^{}\n]+)\}|\$([^\W\d]\w*)", value, text)

def in_shell(command, **more):
    import subprocess
    for stream in (sys.stdout, sys.stderr):
        quietly(stream.flush)
    done = subprocess.run(["/bin/bash", "-c", command], stdin=subprocess.DEVNULL, **more)
    space["_exit_code"] = done.returncode
    return done

def nothing(text, frame):
    pass

def timed(code, frame):
    import time
    began, used = time.perf_counter(), os.times()
    value = run(code, "<timed>")
    spent, ended = time.perf_counter() - began, os.times()
    print(f"CPU times: user {ended[0] - used[0]:.3g} s, sys: {ended[1] - used[1]:.3g} s, total: {sum(ended[:2]) - sum(used[:2]):.3g} s", file=sys.stdout)
    print(f"Wall time: {spent:.3g} s", file=sys.stdout)
    return value

def timed_often(code, frame):
    import timeit
    timer = timeit.Timer(code, globals=space)
    number, _ = timer.autorange()
    best = min(timer.repeat(3, number)) / number
    print(f"{best:.3g} s per loop (best of 3 runs, {number:,} loops each)", file=sys.stdout)

def variables(text, frame):
    name, found, value = text.partition("=") if "=" in text else text.partition(" ")
    if found:
        environ[name.strip()] = value.strip()
    return dict(environ) if not text else environ.get(name.strip())

def moved(text, frame):
    os.chdir(os.path.expanduser(text.strip() or "~"))
    print(os.getcwd(), file=sys.stdout)

def written(text, body):
    words = text.split()
    with open(os.path.expanduser(words[-1]), "a" if "-a" in words[:-1] else "w") as file:
        file.write(body)
    print(("Appending to " if "-a" in words[:-1] else "Writing ") + words[-1], file=sys.stdout)

def listed(text, frame):
    in_shell("ls " + text)

LINES = {
    "pip": lambda text, frame: in_shell(f"'{sys.executable}' -m pip {text}") and None,
    "matplotlib": nothing, "config": nothing, "load_ext": nothing, "reload_ext": nothing, "autoreload": nothing,
    "time": timed, "timeit": timed_often, "env": variables, "set_env": variables, "cd": moved, "ls": listed,
    "pwd": lambda text, frame: os.getcwd(),
}
CELLS = {
    "bash": lambda text, body: in_shell(body) and None, "sh": lambda text, body: in_shell(body) and None,
    "time": timed, "timeit": timed_often, "writefile": written,
}
CELLS["time"] = lambda text, body: timed(body or text, None)
CELLS["timeit"] = lambda text, body: timed_often(body or text, None)

class Shell:
    config = {}

    def system(self, command):
        in_shell(expanded(command, sys._getframe(1)))

    def getoutput(self, command):
        return in_shell(expanded(command, sys._getframe(1)), capture_output=True, text=True).stdout.splitlines()

    def run_line_magic(self, name, text=""):
        if name not in LINES:
            raise UsageError(f"Line magic function %{name} not found: here are {', '.join('%' + one for one in LINES)}.")
        return LINES[name](expanded(text, sys._getframe(1)) if name in ("pip", "cd", "ls") else text, sys._getframe(1))

    def run_cell_magic(self, name, text, body):
        if name not in CELLS:
            raise UsageError(f"Cell magic %%{name} not found: here are {', '.join('%%' + one for one in CELLS)}.")
        return CELLS[name](text, body)

shell = Shell()
builtins.get_ipython = lambda: shell
`;
