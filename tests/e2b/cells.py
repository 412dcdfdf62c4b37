"""Cells for E2B's code interpreter, which know nothing of this gateway: E2B's own variables alone."""
import asyncio
import json
import os
import sys

from e2b_code_interpreter import AsyncSandbox, Sandbox

CHARTS = """
import matplotlib.pyplot as plt
plt.plot([1, 2], [3, 4], label="up"); plt.show()
plt.scatter([1, 2], [3, 4]); plt.show()
plt.bar(["a", "b"], [3, 4], label="n"); plt.show()
plt.pie([1, 3], labels=["s", "l"]); plt.show()
plt.boxplot([1, 2, 3, 4, 20]); plt.show()
plt.subplots(1, 2)[1][0].plot([1, 2]); plt.show()
plt.imshow([[1]]); plt.show()
"""

told = {}
with Sandbox.create(sys.argv[1], timeout=120) as sandbox:
    said = []
    sandbox.run_code("x = 20")
    ran = sandbox.run_code("print('größer'); [x, 2.0, float('nan')]", on_stdout=lambda one: said.append(one.line))
    told["ran"] = [ran.text, ran.results[0].json, said, ran.execution_count, ran.error]
    told["types"] = [type(one).__name__ for one in ran.results[0].json]
    failed = sandbox.run_code("1 / 0").error
    told["failed"] = [failed.name, failed.value, "1 / 0" in failed.traceback]
    raw = "display({'text/latex': 'x', 'application/x-own': 'y'}, raw=True)"
    told["shown"] = [sorted(one.formats()) for one in sandbox.run_code(raw).results]
    charts = [one.chart for one in sandbox.run_code(CHARTS).results]
    told["charts"] = [type(one).__name__ for one in charts]
    told["numbers"] = [
        charts[0].elements[0].points,
        [type(one).__name__ for one in charts[0].x_ticks[:1]],
        [(one.label, one.value, one.group) for one in charts[2].elements],
        [one.angle for one in charts[3].elements],
        [charts[4].elements[0].median, charts[4].elements[0].outliers],
        [type(one).__name__ for one in charts[5].elements],
    ]
    table = "import pandas as pd\npd.DataFrame([[1, 2.5], [3, None]], columns=['a', 'a'])"
    told["table"] = sandbox.run_code(table).results[0].data
    context = sandbox.create_code_context(cwd="/tmp", language="javascript")
    told["js"] = sandbox.run_code("process.cwd()", context=context).text
    try:
        sandbox.run_code("import time; time.sleep(600)", timeout=2)
    except Exception as error:
        told["late"] = type(error).__name__
    told["after"] = sandbox.run_code("x").text


async def not_waiting():
    async with await AsyncSandbox.create(timeout=60) as other:
        return (await other.run_code("import asyncio\nawait asyncio.sleep(0, 'async')")).text


told["not_waiting"] = asyncio.run(not_waiting())
print(json.dumps(told), flush=True)
# A thread of the package's HTTP client may still be on its way back from the last answer, and one that
# meets a Python which is ending (before 3.14) aborts the process without a word. So it ends at once.
os._exit(0)
