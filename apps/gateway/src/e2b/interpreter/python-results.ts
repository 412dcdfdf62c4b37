/** What a value looks like: what it says of itself to Jupyter, and a table's columns. */
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
MOST_DATA = 1_000_000

def cleaned(value, other=str):
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {one if isinstance(one, str) else str(cleaned(one)): cleaned(held, other) for one, held in value.items()}
    if isinstance(value, (list, tuple)):
        return [cleaned(one, other) for one in value]
    kind = type(value).__name__
    if kind in ("NaTType", "NAType", "MaskedConstant"):
        return None
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return cleaned((value.astype(str) if value.dtype.kind in "mM" else value).tolist(), other)
    return other(value)

def refused(value):
    raise TypeError(f"{type(value).__name__} is no JSON")

def plain(value):
    if isinstance(value, tuple):
        value = value[0]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value

def told(bundle):
    found, extra = {}, {}
    for mime, data in (bundle[0] if isinstance(bundle, tuple) else bundle or {}).items():
        if data is not None:
            (found if mime in MIMES else extra)[MIMES.get(mime, mime)] = cleaned(plain(data))
    # E2B's client for JavaScript looks beside the known ones, the one for Python into a place of their own.
    return {**found, **extra, **({"extra": extra} if extra else {})}

def method_of(value, name):
    # What has a method of any name has none of these.
    if isinstance(value, type) or callable(getattr(value, "_no_such_method_of_anything_", None)):
        return None
    method = getattr(value, name, None)
    return method if callable(method) else None

def quietly(action, *given):
    try:
        return action(*given)
    except Exception:
        return None

def said(value, name, key):
    method = method_of(value, name)
    data = plain(method()) if method else None
    return cleaned(data) if isinstance(data, (dict, list) if key == "json" else str) else None

def bundle_of(value):
    method = method_of(value, "_repr_mimebundle_")
    try:
        return told(method()) if method else None
    except TypeError:
        return told(method(include=None, exclude=None))

def columns(table):
    if table.size > MOST_DATA:
        return None
    found = {}
    for at in range(table.shape[1]):
        name, again = str(table.columns[at]), 0
        while (unique := f"{name}.{again}" if again else name) in found:
            again += 1
        found[unique] = [cleaned(one) for one in table.iloc[:, at].tolist()]
    return found

def formats(value):
    found = quietly(bundle_of, value) or {}
    for name, key in METHODS.items():
        data = quietly(said, value, name, key) if key not in found else None
        if data is not None:
            found[key] = data
    pandas, figure = sys.modules.get("pandas"), sys.modules.get("matplotlib.figure")
    if pandas and isinstance(value, getattr(pandas, "DataFrame", ())):
        found["data"] = quietly(columns, value)
    elif isinstance(value, (list, dict)):
        found.setdefault("json", quietly(cleaned, value, refused))
    elif figure and isinstance(value, getattr(figure, "Figure", ())):
        found.update(drawn(value))
    text = found.setdefault("text", repr(value))
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        found["text"] = text[1:-1]
    return {key: data for key, data in found.items() if data is not None}
`;
