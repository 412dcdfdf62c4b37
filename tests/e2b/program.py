"""A program for E2B, which knows nothing of this gateway: it reads E2B's own variables alone."""
import asyncio
import json
import os
import time
import urllib.request

from e2b import AsyncSandbox, CommandExitException, PtySize, Sandbox

told = {}
sandbox = Sandbox.create(timeout=120, metadata={"from": "python"})
ran = sandbox.commands.run("echo hello")
told["ran"] = [ran.stdout, ran.exit_code]
try:
    sandbox.commands.run("exit 3")
except CommandExitException as error:
    told["failed"] = error.exit_code
reader = sandbox.commands.run("read x; echo $x", background=True, stdin=True)
sandbox.commands.send_stdin(reader.pid, "typed\n")
told["input"] = reader.wait().stdout
sandbox.files.make_dir("box")
watch = sandbox.files.watch_dir("box")
sandbox.files.write("box/one", "eins")
sandbox.files.write_files([{"path": "box/two", "data": b"zwei"}])
told["files"] = [entry.name for entry in sandbox.files.list("box")]
told["read"] = sandbox.files.read("box/one")
seen = []
for _ in range(50):
    seen += [event.name for event in watch.get_new_events()]
    if {"one", "two"} <= set(seen):
        break
    time.sleep(0.1)
watch.stop()
told["events"] = {"one", "two"} <= set(seen)
told["signed"] = urllib.request.urlopen(sandbox.download_url("box/one")).read().decode()
told["listed"] = sandbox.sandbox_id in [one.sandbox_id for one in Sandbox.list().next_items()]
sandbox.pause()
told["paused"] = [sandbox.is_running()]
sandbox = Sandbox.connect(sandbox.sandbox_id)
told["paused"].append(sandbox.is_running())
shown = []
terminal = sandbox.pty.create(PtySize(rows=24, cols=80))
sandbox.pty.send_stdin(terminal.pid, b"tty; exit\n")
terminal.wait(on_pty=lambda data: shown.append(data))
told["terminal"] = b"/dev/pts" in b"".join(shown)
told["killed"] = [sandbox.kill(), sandbox.kill(), sandbox.is_running()]


async def not_waiting():
    async with await AsyncSandbox.create(timeout=60) as other:
        return (await other.commands.run("echo async")).stdout


told["not_waiting"] = asyncio.run(not_waiting())
print(json.dumps(told), flush=True)
# A thread of the package's HTTP client may still be on its way back from the last answer, and one that
# meets a Python which is ending (before 3.14) aborts the process without a word. So it ends at once.
os._exit(0)
