/**
 * What shows things: display and its relatives, which code written for Jupyter imports from IPython,
 * and figures of matplotlib. Where the image has these packages they are taught to show things here.
 */
export const PYTHON_DISPLAY = String.raw`
def show(value, main):
    emit("result", is_main_result=main, **formats(value))
    close_figure(value)

def display(*values, raw=False, **_):
    for value in values:
        emit("result", is_main_result=False, **told(value)) if raw else show(value, False)

def keep(value):
    # Whoever has a use of their own for it keeps it.
    if space.get("_") is now.last:
        space["_"] = now.last = value

def drawn(figure):
    import io
    file = io.BytesIO()
    figure.savefig(file, format="png", bbox_inches="tight")
    return {"png": base64.b64encode(file.getvalue()).decode(), "chart": quietly(charted, figure)}

def close_figure(value):
    pyplot, figure = sys.modules.get("matplotlib.pyplot"), sys.modules.get("matplotlib.figure")
    if pyplot and figure and isinstance(value, getattr(figure, "Figure", ())):
        pyplot.close(value)

def figures(quiet=False):
    pyplot = sys.modules.get("matplotlib.pyplot")
    for number in pyplot.get_fignums() if hasattr(pyplot, "get_fignums") else ():
        figure = pyplot.figure(number)
        pyplot.close(figure)
        quietly(show, figure, False) if quiet else show(figure, False)

class Figures(types.ModuleType):
    def __getattr__(self, name):
        import matplotlib.backends.backend_agg as agg
        for key, value in vars(agg).items():
            self.__dict__.setdefault(key, value)
        return getattr(agg, name)

sys.modules["figures_here"] = Figures("figures_here")
sys.modules["figures_here"].show = lambda *_, **__: figures()

def in_figures(matplotlib):
    if "MPLBACKEND" not in environ:
        matplotlib.rcParams["backend"] = "module://figures_here"

def in_pictures(viewers):
    class Here(viewers.Viewer):
        def show(self, image, **_):
            display(image)
            return 1
    viewers.register(Here(), 0)

# As E2B has it: a picture that is saved is shown.
def in_saving(pictures):
    save = pictures.Image.save
    def saved(self, fp, *given, **named):
        if isinstance(fp, str):
            display(self)
        return save(self, fp, *given, **named)
    pictures.Image.save = saved

def in_plots(plots):
    def bundle(self, *_, **__):
        html = self.to_html(full_html=False, include_plotlyjs="cdn")
        return {"text/html": html, "application/vnd.plotly.v1+json": decode(self.to_json())[0]}
    plots.BaseFigure._repr_mimebundle_, plots.BaseFigure.show = bundle, lambda self, *_, **__: display(self)

class Shown:
    KEY = "text/plain"
    def __init__(self, data=None, url=None, filename=None, **more):
        self.data = data if url is None and filename is None else self.fetched(url, filename)
        self.filename = filename
    def fetched(self, url, filename):
        if url is not None:
            import urllib.request
            return urllib.request.urlopen(url).read()
        with open(filename, "rb") as file:
            return file.read()
    def _repr_mimebundle_(self, **_):
        isText = isinstance(self.data, bytes) and not self.KEY.startswith("image/") or self.KEY == "image/svg+xml"
        return {self.KEY: self.data.decode() if isText and isinstance(self.data, bytes) else self.data}
    def __repr__(self):
        return f"<IPython.core.display.{type(self).__name__} object>"

class Image(Shown):
    KEY = "image/png"
    def __init__(self, data=None, url=None, filename=None, **more):
        if isinstance(data, str):
            url, filename, data = (data, None, None) if "://" in data else (None, data, None)
        super().__init__(data, url, filename, **more)
        if bytes(self.data[:2]) == b"\xff\xd8":
            self.KEY = "image/jpeg"

def stands_for_ipython(name):
    made = types.ModuleType(name)
    made.__path__ = []
    made.get_ipython = lambda: shell
    if name != "IPython":
        kinds = {"HTML": "text/html", "Markdown": "text/markdown", "SVG": "image/svg+xml", "Latex": "text/latex",
                 "Math": "text/latex", "JSON": "application/json", "Javascript": "application/javascript", "Pretty": "text/plain"}
        vars(made).update({kind: type(kind, (Shown,), {"KEY": mime}) for kind, mime in kinds.items()})
        made.Image, made.display, made.clear_output = Image, display, lambda wait=False: None
    return made

def in_ipython(functions):
    functions.display = display

class Taught:
    WHEN_LOADED = {"matplotlib": in_figures, "plotly.basedatatypes": in_plots, "PIL.Image": in_saving, "PIL.ImageShow": in_pictures, "IPython.core.display_functions": in_ipython}
    STANDS_IN = ("IPython", "IPython.display", "IPython.core", "IPython.core.display")

    def find_spec(self, name, path=None, target=None):
        if name not in self.WHEN_LOADED and name not in self.STANDS_IN:
            return None
        from importlib.machinery import ModuleSpec
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target) if finder is not self and hasattr(finder, "find_spec") else None
            if spec and name in self.WHEN_LOADED and spec.loader:
                loads, spec.loader.exec_module = spec.loader.exec_module, lambda made: (loads(made), quietly(self.WHEN_LOADED[name], made))
            if spec:
                return spec
        return ModuleSpec(name, self) if name in self.STANDS_IN else None

    def create_module(self, spec):
        return stands_for_ipython(spec.name)

    def exec_module(self, made):
        pass

sys.meta_path.insert(0, Taught())
builtins.display = display
`;
