"""Draws the plots of a run of `airpace demo` and writes its page: `python -m airpace.demo_report out/demo`."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from airpace import page, plots
from airpace.findings import findings
from airpace.results import FormatError, load

EMBED_SVG_BELOW = 300_000
"""Bytes. Larger SVGs, with thousands of dots, are embedded in the page as PNG. Both are also written as files."""


def write_report(folder: Path) -> Path:
    """Draws every figure to `folder` as PNG and SVG and writes `index.html`. Returns the path of the page."""
    demo = load(folder)
    images = {stem: _store(folder, stem, figure) for stem, figure in plots.figures(demo)}
    index = folder / "index.html"
    index.write_text(page.render(demo, images), encoding="utf-8")
    return index


def _store(folder: Path, stem: str, figure: Figure) -> tuple[str, bytes]:
    svg, png = _bytes(figure, "svg"), _bytes(figure, "png")
    plt.close(figure)
    (folder / f"{stem}.svg").write_bytes(svg)
    (folder / f"{stem}.png").write_bytes(png)
    return ("image/svg+xml", svg) if len(svg) < EMBED_SVG_BELOW else ("image/png", png)


def _bytes(figure: Figure, kind: str) -> bytes:
    buffer = io.BytesIO()
    # Without a date equal figures give equal files.
    figure.savefig(buffer, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
    return buffer.getvalue()


def main(arguments: list[str] | None = None) -> int:
    """Runs the program. Returns its exit code.

    It is 2 if the folder cannot be read, and 1 if `--check` finds a claim that does not hold.
    """
    parser = argparse.ArgumentParser(prog="python -m airpace.demo_report", description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder that `airpace demo --out` wrote")
    parser.add_argument("--readme-figure", type=Path, help="also write the overview as PNG to this path")
    parser.add_argument("--check", action="store_true", help="print every claim and fail if one does not hold")
    options = parser.parse_args(arguments)
    try:
        index = write_report(options.folder)
    except FormatError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.readme_figure:
        options.readme_figure.parent.mkdir(parents=True, exist_ok=True)
        options.readme_figure.write_bytes((options.folder / "overview.png").read_bytes())
    print(f"page: {index}")
    return check(options.folder) if options.check else 0


def check(folder: Path) -> int:
    """Prints whether each claim holds in the run stored in `folder`. Returns 1 if one does not, otherwise 0."""
    found = findings(load(folder))
    for finding in found:
        print(f"{'holds' if finding.holds else 'FAILS'}: {finding.claim} ({finding.figures})")
    return 0 if all(finding.holds for finding in found) else 1


if __name__ == "__main__":
    sys.exit(main())
