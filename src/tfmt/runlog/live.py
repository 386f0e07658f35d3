"""A run on a terminal: a few lines that stay in place and change, while messages scroll above them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from tfmt.runlog.log import Event, View, without_forgotten
from tfmt.runlog.plain import as_line, duration

MAX_WIDTH = 120  # wider, the eye has too far to go
WIDE_ENOUGH = 72  # columns, for all there is
NUM_VALIDATIONS = 3
LABEL = "dim"


class LiveView(View):
    """Figures of the newest line of the log, the last validations and the best, and how far training is."""

    def __init__(self) -> None:
        self.step, self.progress, self.run = 0, 0.0, ""
        self.training: Event = {}
        self.validations: list[Event] = []
        self._live = Live(self, console=Console(stderr=True), refresh_per_second=4)

    def begin(self, past: Sequence[Event]) -> None:
        self.validations = [event for event in without_forgotten(past) if event["event"] == "validate"]

    def show(self, event: Event) -> None:
        self._live.start()  # at the first event, since `close` follows for certain only then; again: no effect
        match event["event"]:
            case "train":
                self.training, self.progress = event, event["progress"]
                self.step = event["step"]
                return
            case "validate":
                self.validations.append(event)
                return
            case "start" | "resume":
                self.run = event["run"]
                self._forget_after(event["step"])
            case "rewind":
                self._forget_after(event["step"])
        style = "yellow" if event["event"] in ("warning", "skip", "rewind", "left_out", "split") else ""
        self._live.console.print(Text(as_line(event), style))

    def _forget_after(self, step: int) -> None:
        self.validations = [event for event in self.validations if event["step"] <= step]

    def advance(self, step: int, progress: float) -> None:
        self.step, self.progress = step, progress

    def close(self) -> None:
        self._live.stop()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[RenderableType]:
        width = min(options.max_width, MAX_WIDTH)
        parts: list[RenderableType] = [self._head(width)]
        if self.training:
            parts.append(_in_columns(_figures(self.training), width))
        if self.validations:
            parts.append(Rule(style=LABEL))
            parts.append(_validations(self.validations, width))
        yield Group(*(_kept_to(part, width) for part in parts))

    def _head(self, width: int) -> RenderableType:
        where = [f"step {self.step:,}", f"{self.progress:.0%}"]
        if self.training and width >= WIDE_ENOUGH:
            where.insert(1, f"epoch {self.training['epoch']:,}")
        if self.training:
            where.append(f"{duration(self.training['seconds_left'])} left")
        row = Table.grid(padding=(0, 2))
        if width >= WIDE_ENOUGH:
            row.add_column(no_wrap=True, overflow="ellipsis", max_width=width // 4)
            row.add_column(width=width - min(len(self.run), width // 4) - sum(len(part) + 2 for part in where) - 2)
            row.add_row(Text(self.run, "bold"), ProgressBar(total=1.0, completed=self.progress), *where)
        else:
            row.add_row(*where)
        return row


def _kept_to(part: RenderableType, width: int) -> RenderableType:
    box = Table.grid()
    box.add_column(width=width)
    box.add_row(part)
    return box


def _figures(event: Event) -> list[tuple[str, str]]:
    """Label and value, the most wanted first."""
    figures = [
        ("smoothed loss", f"{event['loss']:.3f}"),
        ("perplexity", f"{event['ppl']:.4g}"),
        ("tokens/s", f"{event['tokens_per_s']:,.0f}"),
        ("grad norm", f"{event['grad_norm']:.3g}"),
        ("rate", f"{event['lr']:.2e}"),
        ("matrix rate", f"{event['matrix_share']:.0%}"),
        ("memory", _bytes(event["peak_memory_bytes"])),
    ]
    for key in ("skipped", "left_out"):
        if event[key]:
            figures.insert(2, (key.replace("_", " "), f"{event[key]:,}"))
    return figures


def _in_columns(figures: list[tuple[str, str]], width: int) -> RenderableType:
    """Labels above values; those at the end are left out where there is no room."""
    gap = 2
    while sum(max(map(len, figure)) + gap for figure in figures) - gap > width and len(figures) > 1:
        figures = figures[:-1]
    table = Table.grid(padding=(0, gap))
    for _ in figures:
        table.add_column(justify="right", no_wrap=True)
    table.add_row(*(Text(label, LABEL) for label, _ in figures))
    table.add_row(*(Text(value, "bold") for _, value in figures))
    return table


def _validations(validations: list[Event], width: int) -> RenderableType:
    """The last few, and the best if it is not among them."""
    shown = validations[-NUM_VALIDATIONS:]
    best = [event for event in validations if event["is_best"]][-1:]
    shown = [*(event for event in best if event not in shown), *shown]
    columns: dict[str, Callable[[Event], str]] = {
        "validation at step": lambda event: f"{event['step']:,}",
        "smoothed loss": lambda event: f"{event['loss']:.3f}",
        "perplexity": lambda event: f"{event['ppl']:.4g}",
        "BLEU": lambda event: f"{event['bleu']:.2f}",
        "chrF": lambda event: f"{event['chrf']:.2f}",
        "": lambda event: "best" if event in best else f"mean of {event['averaged']}" if event["averaged"] else "",
    }
    if width < WIDE_ENOUGH:
        del columns["smoothed loss"], columns["chrF"], columns[""]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=LABEL)
    for heading in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    for event in reversed(shown):
        table.add_row(*(show(event) for show in columns.values()), style="bold" if event in best else "")
    return table


def _bytes(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
