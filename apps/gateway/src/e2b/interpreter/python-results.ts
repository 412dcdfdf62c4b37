/**
 * What a value looks like: what it says of itself to Jupyter, a table's columns, a figure's picture
 * and, for the common kinds, the numbers that it shows.
 */
export const PYTHON_RESULTS = String.raw`
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
`;
