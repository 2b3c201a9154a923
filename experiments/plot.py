"""Small multiples of line charts as SVG, with nothing but the standard library.

    figure = Figure("title", "what one should know to read it")
    panel = figure.panel("dense", x="passes", y="distance", y_log=True)
    panel.line("bsp", [(1, 0.5), (2, 0.1)])
    figure.write("out.svg", columns=3)

A label has one colour and one dash in the whole figure; there is one legend, at the top.
"""
import math
from xml.sax.saxutils import escape

# Okabe and Ito's colours, which the colour-blind can tell apart, in an order that keeps neighbours distinct.
DASHES = ("2 2", "8 3 2 3", "5 3", "")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#444444")
WIDTH, HEIGHT = 300, 212                      # of a panel's plotting area
LEFT, RIGHT, ABOVE, BELOW = 66, 20, 34, 52    # around it
INK, FAINT, GRID = "#222222", "#666666", "#e6e6e6"
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def short(value):
    """A tick's label: 20, 0.5, 1.2M."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            return f"{value / {'G': 1e9, 'M': 1e6, 'k': 1e3}[unit]:g}{unit}"
    return f"{value:g}"


def linear_ticks(low, high, most=6):
    span = (high - low) or 1.0
    step = 10 ** math.floor(math.log10(span / most))
    step = next(step * m for m in (1, 2, 5, 10) if span / (step * m) <= most)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low, high, most=6):
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    every = max(1, math.ceil((last - first + 1) / most))
    return [10.0 ** k for k in range(first, last + 1) if (k - first) % every == 0]


class Axis:
    """From values to pixels."""

    def __init__(self, values, log, begin, end, from_zero=True):
        self.log, self.begin, self.end = log, begin, end
        values = [v for v in values if v > 0] if log else list(values)
        self.low, self.high = (min(values), max(values)) if values else (0.1 if log else 0.0, 1.0)
        if log:
            self.low, self.high = 10 ** math.floor(math.log10(self.low) + 1e-9), 10 ** math.ceil(math.log10(self.high) - 1e-9)
            if self.low == self.high:
                self.low /= 10
        else:
            room = 0.02 * (self.high - self.low)
            self.low = min(0.0, self.low) if from_zero or room == 0 else self.low - room
            self.high = self.high * 1.02 or 1.0 if from_zero else self.high + room

    def at(self, value):
        if self.log:
            share = (math.log10(max(value, self.low)) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def ticks(self):
        if not self.log:
            return [(t, short(t)) for t in linear_ticks(self.low, self.high)]
        return [(t, "10" + str(round(math.log10(t))).translate(SUPERSCRIPT)) for t in log_ticks(self.low, self.high)]


class Panel:
    def __init__(self, title, x, y, x_log, y_log, y_most, y_from_zero):
        self.title, self.x, self.y, self.x_log, self.y_log, self.y_most, self.y_from_zero = title, x, y, x_log, y_log, y_most, y_from_zero
        self.lines = []

    def line(self, label, points, dash=""):
        """Adds a line through `points` in this order. A line that goes above y_most leaves the picture."""
        self.lines.append((label, [(x, y) for x, y in points if x is not None and y is not None], dash))


def text(x, y, words, size=11, anchor="middle", colour=INK, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" {more}>{escape(words)}</text>'


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
        rows = math.ceil(len(self.panels) / columns)
        width, styles = columns * (LEFT + WIDTH + RIGHT), self.styles()
        legend, legend_height = self.legend(styles, width)
        head = 52 + legend_height
        height = head + rows * (ABOVE + HEIGHT + BELOW) + 6
        parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
                 'font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif">',
                 f'<rect width="{width}" height="{height}" fill="white"/>',
                 text(16, 26, self.title, 16, "start", more='font-weight="bold"'),
                 text(16, 45, self.subtitle, 11, "start", FAINT), legend]
        for k, panel in enumerate(self.panels):
            left = (k % columns) * (LEFT + WIDTH + RIGHT) + LEFT
            top = head + (k // columns) * (ABOVE + HEIGHT + BELOW) + ABOVE
            parts.append(draw(panel, left, top, styles))
        parts.append("</svg>\n")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(parts))

    def legend(self, styles, width):
        parts, x, y = [], 16, 66
        for label, (colour, dash) in styles.items():
            length = 44 + 6.9 * len(label)
            if x + length > width:
                x, y = 16, y + 18
            parts.append(f'<line x1="{x}" y1="{y - 4}" x2="{x + 24}" y2="{y - 4}" stroke="{colour}" stroke-width="2.4"'
                         f' stroke-dasharray="{dash}"/>' + text(x + 30, y, label, 11, "start"))
            x += length
        return "\n".join(parts), y - 48


def draw_axes(panel, left, top, across, up):
    parts = []
    for value, label in up.ticks():
        y = up.at(value)
        parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + WIDTH}" y2="{y:.1f}" stroke="{GRID}"/>')
        parts.append(text(left - 7, y + 4, label, 10, "end", FAINT))
    for value, label in across.ticks():
        x = across.at(value)
        parts.append(f'<line x1="{x:.1f}" y1="{top + HEIGHT}" x2="{x:.1f}" y2="{top + HEIGHT + 4}" stroke="{FAINT}"/>')
        parts.append(text(x, top + HEIGHT + 17, label, 10, colour=FAINT))
    parts.append(f'<line x1="{left}" y1="{top + HEIGHT}" x2="{left + WIDTH}" y2="{top + HEIGHT}" stroke="{FAINT}"/>')
    parts.append(text(left, top - 10, panel.title, 12, "start", more='font-weight="bold"'))
    parts.append(text(left + WIDTH / 2, top + HEIGHT + 36, panel.x, 11, colour=FAINT))
    middle = top + HEIGHT / 2
    parts.append(text(left - 50, middle, panel.y, 11, colour=FAINT, more=f'transform="rotate(-90 {left - 50} {middle:.1f})"'))
    return parts


def draw(panel, left, top, styles):
    shown = [(x, min(y, panel.y_most)) for _, points, _ in panel.lines for x, y in points]
    across = Axis([x for x, _ in shown], panel.x_log, left, left + WIDTH)
    up = Axis([y for _, y in shown], panel.y_log, top + HEIGHT, top, panel.y_from_zero)
    parts = draw_axes(panel, left, top, across, up)
    for label, points, _ in panel.lines:
        colour, dash = styles[label]
        inside = []
        for x, y in points:
            inside.append((across.at(x), up.at(min(y, panel.y_most))))
            if y > panel.y_most:
                px, py = inside[-1]
                parts.append(f'<path d="M{px - 5:.1f} {py + 8:.1f} L{px:.1f} {py:.1f} L{px + 5:.1f} {py + 8:.1f}" fill="none"'
                             f' stroke="{colour}" stroke-width="2"/>')
                break
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in inside)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round"'
                     f' stroke-dasharray="{dash}"/>')
        for x, y in inside:
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2" fill="{colour}"/>')
    return "\n".join(parts)
