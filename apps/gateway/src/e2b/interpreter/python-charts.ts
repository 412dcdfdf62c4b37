/** The numbers that a figure of matplotlib shows, for the kinds of charts that E2B's clients know. */
export const PYTHON_CHARTS = String.raw`
def charted(figure):
    axes = [one for one in figure.axes if not hasattr(one, "_colorbar")]
    if not any(one.has_data() for one in axes):
        return None
    charts = [cleaned(chart_of(one)) for one in axes]
    if len(charts) == 1:
        return charts[0]
    title = figure._suptitle.get_text() if figure._suptitle else ""
    return {"type": "superchart", "title": title, "elements": charts}

def chart_of(axes):
    named = lambda many, *names: [one for one in many if names and any(kind.__name__ in names for kind in type(one).__mro__)]
    title = {"title": axes.get_title() or None}
    bars = named(axes.containers, "BarContainer")
    # Lines across the whole plane, and those that say how sure a value is, are none of the values.
    beside = [part for one in named(axes.containers, "ErrorbarContainer") for part in one.lines[1]]
    lines = [one for one in axes.lines if one.get_transform() == axes.transData and one not in beside]
    boxes = boxes_of(axes, lines)
    kinds = {
        "pie": named(axes.patches, "Wedge"),
        "box_and_whisker": boxes,
        "bar": bars,
        "line": [] if boxes else lines,
        "scatter": named(axes.collections, "PathCollection"),
        "unknown": [] if boxes else named(axes.patches, "PathPatch"),
    }
    found = [kind for kind, parts in kinds.items() if parts]
    if not found and not axes.patches and not axes.collections and not axes.images:
        found = ["line"]
    if len(found) != 1 or found == ["unknown"] or axes.name == "3d":
        return {"type": "unknown", **title, "elements": []}
    kind, parts = found[0], kinds[found[0]]
    if kind == "pie":
        return {"type": kind, **title, "elements": [
            {"label": one.get_label(), "angle": rounded(abs(one.theta2 - one.theta1)), "radius": float(one.r)} for one in parts]}
    plane = {"type": kind, **title, **labels_of(axes, lying(parts))}
    if kind == "box_and_whisker":
        return {**plane, "elements": [{key: one[key] for key in one if key != "lying"} for one in parts]}
    if kind == "bar":
        return {**plane, "elements": [bar for one in parts for bar in bars_of(axes, one)]}
    points = [(one.get_label(), *(zip(*one.get_data()) if kind == "line" else one.get_offsets())) for one in parts]
    x, y = (axes.xaxis, scale_of(axes.xaxis)), (axes.yaxis, scale_of(axes.yaxis))
    return {**plane, **ticks_of("x", *x), **ticks_of("y", *y), "elements": [
        {"label": re.sub(r"^_child(\d+)$", r"Line \1", label) if kind == "line" else label,
         "points": [[point(at[0], *x), point(at[1], *y)] for at in data]} for label, *data in points]}

def rounded(value):
    return float(f"{float(value):.6g}")

def lying(parts):
    return any(one["lying"] if isinstance(one, dict) else getattr(one, "orientation", "") == "horizontal" for one in parts)

def labels_of(axes, swapped):
    found = {}
    for name, label in (("x", axes.get_xlabel()), ("y", axes.get_ylabel())):
        unit = re.search(r"\s\((.*?)\)|\[(.*?)\]", label)
        # The plane lies as its bars would stand: x is what they are for.
        name = {"x": "y", "y": "x"}[name] if swapped else name
        found[f"{name}_label"], found[f"{name}_unit"] = label or None, unit and (unit[1] or unit[2])
    return found

def scale_of(axis):
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    kind = type(converter).__name__
    if "Date" in kind or "Period" in kind:
        return "datetime"
    ticks, labels = list(axis.get_ticklocs()), [one.get_text() for one in axis.get_ticklabels()]
    counted = ticks and all(tick == at and label != str(at) and not re.match(r"^[\d.−-]+$", label) for at, (tick, label) in enumerate(zip(ticks, labels)))
    scale = axis.get_scale()
    return "categorical" if scale == "linear" and (counted or kind == "StrCategoryConverter") else scale

def point(value, axis, scale):
    if not isinstance(value, numbers.Real) or scale != "datetime" or not math.isfinite(value):
        return float(value) if isinstance(value, numbers.Real) else value
    if getattr(axis.axes, "freq", None):
        return sys.modules["pandas"].Period(ordinal=int(value), freq=axis.axes.freq).start_time.isoformat()
    import matplotlib.dates
    return matplotlib.dates.num2date(value).isoformat()

def ticks_of(name, axis, scale):
    return {f"{name}_ticks": [point(tick, axis, scale) for tick in axis.get_ticklocs()],
            f"{name}_tick_labels": [one.get_text() for one in axis.get_ticklabels()], f"{name}_scale": scale}

def label_at(axis, value):
    scale = scale_of(axis)
    isSaid = scale == "categorical" or type(axis.get_major_formatter()).__name__ in ("FixedFormatter", "FuncFormatter", "StrCategoryFormatter")
    ticks = [(abs(tick - value), one.get_text()) for tick, one in zip(axis.get_ticklocs(), axis.get_ticklabels())] if isSaid else []
    return min(ticks)[1] if ticks else str(point(value, axis, scale)) if scale == "datetime" else f"{value:g}"

def bars_of(axes, container):
    group = re.sub(r"^_container(\d+)$", r"Group \1", str(container.get_label()))
    for bar in container:
        if lying([container]):
            yield {"label": label_at(axes.yaxis, bar.get_y() + bar.get_height() / 2), "value": rounded(bar.get_width()), "group": group}
        else:
            yield {"label": label_at(axes.xaxis, bar.get_x() + bar.get_width() / 2), "value": rounded(bar.get_height()), "group": group}

def corners(one):
    path = one.get_path().vertices if hasattr(one, "get_facecolor") else one.get_xydata()
    xs, ys = [float(x) for x, _ in path], [float(y) for _, y in path]
    isClosed = len(path) in (5, 6, 11, 12) and (xs[0], ys[0]) in list(zip(xs, ys))[4:]
    return (min(xs), max(xs), min(ys), max(ys)) if isClosed else None

def boxes_of(axes, lines):
    patches = [one for one in axes.patches if type(one).__name__ == "PathPatch"]
    found = [box for box in map(corners, patches or lines) if box]
    pairs = [[(float(x), float(y)) for x, y in one.get_xydata()] for one in lines]
    for turned in (False, True):
        boxes = [box_of(axes, box[2:] + box[:2] if turned else box, [[at[::-1] for at in one] for one in pairs] if turned else pairs, turned) for box in found]
        if boxes and all(boxes):
            return boxes
    return []

def box_of(axes, box, pairs, turned):
    left, right, first, third = box
    middle, near = (left + right) / 2, lambda one, other: abs(one - other) < 1e-9 * max(1, abs(one), abs(other))
    within = lambda value, low, high: low < value < high or near(value, low) or near(value, high)
    whiskers = [[y for _, y in one] for one in pairs if len(one) == 2 and all(near(x, middle) for x, _ in one) and any(near(y, end) for _, y in one for end in (first, third))]
    flat = [(abs(one[0][0] - one[1][0]), one[0][1]) for one in pairs
            if len(one) == 2 and near(one[0][1], one[1][1]) and not near(one[0][0], one[1][0])
            and all(within(x, left, right) for x, _ in one) and within(one[0][1], first, third)]
    if len(whiskers) < 2 or not flat:
        return None
    low, high = min(y for one in whiskers for y in one), max(y for one in whiskers for y in one)
    widest = max(width for width, _ in flat)
    median = [y for width, y in flat if near(width, widest)][-1]
    outliers = [y for one in pairs if one and all(near(x, middle) for x, _ in one) for _, y in one if not within(y, low, high)]
    return {"lying": turned, "label": label_at(axes.yaxis if turned else axes.xaxis, middle), "min": rounded(low), "first_quartile": rounded(first),
            "median": rounded(median), "third_quartile": rounded(third), "max": rounded(high), "outliers": [rounded(y) for y in outliers]}
`;
