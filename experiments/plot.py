"""Small multiples of line charts as SVG, drawn by matplotlib.

    figure = Figure("title", "what one should know to read it")
    panel = figure.panel("dense", x="passes", y="distance", y_log=True)
    panel.line("bsp", [(1, 0.5), (2, 0.1)])
    figure.write("out.svg", columns=3)

A label has one colour and one dash in the whole figure; there is one legend, at the top. In the file, line k of panel p is the group `line-p-k`
(lines_of counts them), and equal figures are equal files.
"""
import math
import pathlib
import sys
import textwrap
import xml.etree.ElementTree as xml

try:
    if "--claims" not in sys.argv:  # which draws nothing
        import matplotlib
        from matplotlib.figure import Figure as Canvas
        from matplotlib.lines import Line2D
        from matplotlib.ticker import MaxNLocator
except ImportError:
    tool = pathlib.Path(__file__).resolve().parents[1] / "python/tools/environment.py"
    sys.exit(f"{sys.argv[0]}: figures need matplotlib, which {sys.executable} lacks: install it, or use the Python that {tool} prints")

# Okabe and Ito's colours, which the colour-blind can tell apart, in an order that keeps neighbours distinct.
DASHES = ("2 2", "8 3 2 3", "5 3", "")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#444444")
WIDTH, HEIGHT, LEGEND_LINE = 3.9, 2.9, 0.2    # of a panel and a line of the legend, in inches
MARKED = 20                                   # a line with more points shows none of them
STYLE = {"svg.hashsalt": "hawser", "svg.fonttype": "none", "font.family": "DejaVu Sans", "font.size": 8, "axes.titlesize": 9,
         "axes.titleweight": "bold", "axes.titlelocation": "left", "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#666666",
         "axes.labelcolor": "#444444", "xtick.color": "#666666", "ytick.color": "#666666", "axes.grid": True, "axes.grid.axis": "y", "grid.color": "#e6e6e6",
         "axes.axisbelow": True, "lines.linewidth": 1.6, "lines.markersize": 3, "axes.formatter.limits": (-3, 5), "axes.formatter.useoffset": False}


class Panel:
    def __init__(self, title, x, y, x_log, y_log, y_most, y_from_zero):
        self.title, self.x, self.y, self.x_log, self.y_log, self.y_most, self.y_from_zero = title, x, y, x_log, y_log, y_most, y_from_zero
        self.lines = []

    def line(self, label, points, dash="", spread=None):
        """Adds a line through `points` in this order. A line that goes above y_most leaves the picture. `spread` has (low, high) for each point, which is drawn
        as a bar."""
        kept = [(x, y, ends) for (x, y), ends in zip(points, spread or [None] * len(points)) if x is not None and y is not None]
        self.lines.append((label, kept, dash))


class Figure:
    def __init__(self, title, subtitle=""):
        self.title, self.subtitle, self.panels = title, subtitle, []

    def panel(self, title, x, y, x_log=False, y_log=True, y_most=math.inf, y_from_zero=True):
        self.panels.append(Panel(title, x, y, x_log, y_log, y_most, y_from_zero))
        return self.panels[-1]

    def styles(self):
        """Label -> (colour, dash). Labels with equal words before a comma have one colour, and each its own dash."""
        styles, families = {}, {}
        for panel in self.panels:
            for label, _, dash in panel.lines:
                family = label.split(",")[0]
                families.setdefault(family, COLOURS[len(families) % len(COLOURS)])
                if label not in styles:
                    free = [own for own in (dash, *DASHES) if (families[family], own) not in styles.values()]
                    styles[label] = (families[family], free[0] if free else dash)
        return styles

    def write(self, path, columns):
        with matplotlib.rc_context(STYLE):
            rows, styles = math.ceil(len(self.panels) / columns), self.styles()
            width = columns * WIDTH
            subtitle = textwrap.fill(self.subtitle, int(18 * width))
            across = max(1, int(width / (0.6 + 0.075 * max(map(len, styles), default=1))))
            head = 0.5 + 0.16 * (1 + subtitle.count("\n")) + LEGEND_LINE * math.ceil(len(styles) / across)
            height = rows * HEIGHT + head
            canvas = Canvas(figsize=(width, height), layout="constrained")
            canvas.get_layout_engine().set(rect=(0, 0, 1, 1 - head / height), w_pad=0.1, h_pad=0.1)
            canvas.text(0.12 / width, 1 - 0.12 / height, self.title, size=12, weight="bold", va="top")
            canvas.text(0.12 / width, 1 - 0.36 / height, subtitle, color="#666666", va="top")
            handles = [Line2D([], [], color=colour, linestyle=pattern(dash)) for colour, dash in styles.values()]
            canvas.legend(handles, list(styles), loc="lower left", bbox_to_anchor=(0, 1 - head / height), ncols=across, frameon=False, borderaxespad=0.3)
            axes = list(canvas.subplots(rows, columns, squeeze=False).flat)
            for number, (panel, box) in enumerate(zip(self.panels, axes)):
                draw(panel, box, styles, number)
            for box in axes[len(self.panels):]:
                box.set_axis_off()
            canvas.savefig(path, format="svg", metadata={"Date": None})


def pattern(dash):
    return (0, [float(part) / 2 for part in dash.split()]) if dash else "-"


def draw_line(panel, box, style, points, name):
    colour, dash = style
    inside = []
    for x, y, ends in points:
        inside.append((x, min(y, panel.y_most)))
        if ends:
            box.plot([x, x], ends, color=colour, linewidth=0.8, marker="_", markersize=5)
        if y > panel.y_most:
            box.plot([x], [panel.y_most], color=colour, marker="^", markersize=6, clip_on=False)
            break
    box.plot([x for x, _ in inside], [y for _, y in inside], color=colour, linestyle=pattern(dash), marker="o" if len(inside) <= MARKED else "", gid=name)


def draw(panel, box, styles, number):
    for k, (label, points, _) in enumerate(panel.lines):
        draw_line(panel, box, styles[label], points, f"line-{number}-{k}")
    box.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
    points = [point for _, line, _ in panel.lines for point in line]
    scale(box.set_xscale, box.set_xlim, box.xaxis, panel.x_log, True, [x for x, _, _ in points])
    scale(box.set_yscale, box.set_ylim, box.yaxis, panel.y_log, panel.y_from_zero, [y for _, y, _ in points])


def scale(set_scale, set_limit, axis, log, from_zero, values):
    """Without a positive value an axis has no logarithms; a linear one begins at zero where that is asked for and no value is below."""
    if log and max(values, default=0) > 0:
        set_scale("log")
        return
    axis.set_major_locator(MaxNLocator(6))
    if from_zero and min(values, default=0) >= 0:
        set_limit(0)


def lines_of(path):
    """The number of lines of a figure's file."""
    return sum(group.get("id", "").startswith("line-") for group in xml.parse(path).iter("{http://www.w3.org/2000/svg}g"))
