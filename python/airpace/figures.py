"""What the programs share that draw one file per figure into a folder of results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from airpace.results import FormatError


def save_all(folder: Path, figures: Iterable[tuple[str, Figure]], dpi: int = 120) -> list[Path]:
    """Writes each figure to `folder` under its name, as PNG with `dpi` dots per inch. Returns the files."""
    files = []
    for name, figure in figures:
        path = folder / f"{name}.png"
        figure.savefig(path, dpi=dpi)
        plt.close(figure)
        files.append(path)
    return files


def run(
    module: str,
    description: str | None,
    written_by: str,
    write_report: Callable[[Path], list[Path]],
    arguments: list[str] | None,
) -> int:
    """Runs a program that draws a folder. Returns its exit code: 2 if the folder cannot be read."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    parser.add_argument("folder", type=Path, help=f"the folder that `{written_by} --out` wrote")
    options = parser.parse_args(arguments)
    try:
        files = write_report(options.folder)
    except FormatError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{len(files)} figures in {options.folder}")
    return 0
