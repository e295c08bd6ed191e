"""The demo's page: one HTML file that contains its figures."""

from __future__ import annotations

import base64
import time
from html import escape
from typing import Any

from airpace.findings import findings
from airpace.results import Demo, jain_airtime, label

CAPTIONS = {
    "overview": "Goodput against ping under load. The mark stands at the 95th percentile, its line begins at the median. "
    "Up and to the left is better. The time axis is logarithmic. What is behind airpace is the closed access point.",
    "arms": "The same with every arm of the run.",
    "timeline": "The three quantities over time. Each dot is a ping. The dotted line is the level that airpace aims at. "
    "The first seconds (the ramp) are shown here, but the table leaves them out.",
    "ping": "Share of the pings that took longer than the time on the axis, in the steady state.",
    "stations": "The single stations. Airtime is that of a station's frames in both directions, with access and acknowledgements.",
}

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 80rem; margin: 2rem auto; padding: 0 1rem }
p, ul, h1, h2, pre { max-width: 62rem } h1 { line-height: 1.2 }
figure { margin: 2rem 0; max-width: 62rem } figure img { max-width: 100%; height: auto }
figcaption { color: #555; font-size: .9rem } .scroll { overflow-x: auto }
table { border-collapse: separate; border-spacing: 0; font-size: .85rem; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .55rem; text-align: right; white-space: nowrap } th { border-bottom: 2px solid #444; vertical-align: bottom }
td { border-bottom: 1px solid #ddd; vertical-align: top }
.name { text-align: left; position: sticky; left: 0; background: #fff; white-space: normal; min-width: 9rem; max-width: 17rem }
.late td { color: #777 } .late .name { color: #222 } .warning { display: block; color: #b3261e; font-weight: bold }
.yes { color: #00704f } .no { color: #b3261e; font-weight: bold } code, pre { background: #f4f4f4; padding: .1rem .3rem }
pre { padding: .8rem; overflow-x: auto }
"""


def render(demo: Demo, images: dict[str, tuple[str, bytes]]) -> str:
    """The page. `images` maps the name of a figure to its media type and its bytes."""
    title = f"airpace: one download, {_count(len({arm['name'] for arm in demo.arms}))}"
    body = "\n".join(
        (
            f"<h1>{title}</h1>",
            _introduction(demo),
            _findings(demo),
            "<h2>Figures of the run</h2>",
            _table(demo),
            *(_figure(stem, *image) for stem, image in images.items()),
            _reproduce(demo),
        )
    )
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n'
    )


def _count(ways: int) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return f"{words[ways] if ways < len(words) else ways} way{'' if ways == 1 else 's'}"


def _introduction(demo: Demo) -> str:
    s = demo.summary["settings"]
    level = s["target_level"]
    held = "at its default aim" if level is None else f"so that its frames carry at most {level:g} packets"
    return (
        "<p>A server sends bulk data to the stations of an emulated 802.11ac access point "
        f"({s['width_mhz']} MHz, {s['nss']} stream{'s' if s['nss'] > 1 else ''}, "
        f"{s['wired_delay_ms']:g} ms of wire each way, "
        f"a buffer of {s['ap_buffer_packets']} packets per station) through the real kernel's network stack. "
        "Cubic and BBR first use an unmodified <b>closed access point</b>. The <b>AP with FQ-MAC + airtime</b> shows what an "
        "access point achieves whose queues are modified as Linux's were: flow queues under CoDel for each station, and equal "
        f"airtime. <b>Behind airpace edge</b> a box in the wire to the closed access point paces each station {held}: with "
        "nothing on the stations, whose TCP acknowledgements tell the box what it needs to know; with a radio beside the "
        "access point that hears their block acks; and with an agent on each. <b>Behind airpace tunnel</b> a proxy does the "
        "same through a tunnel to agents, with Cubic, or with a constant UDP load at the rate that it allocates. "
        "Meanwhile every station is pinged. RPM are round trips per minute and QoO is the Quality of Outcome of a video call, "
        "0 to 100, both of the pings under load (docs/responsiveness.md). "
        f"Figures cover the steady state: the first {s['ramp_s']:g} s of {s['load_s']:g} s of load are left out.</p>"
    )


def _findings(demo: Demo) -> str:
    def item(f: Any) -> str:
        verdict = '<span class="yes">holds</span>' if f.holds else '<span class="no">does not hold</span>'
        return f"<li>{escape(f.claim)}: {verdict} ({escape(f.figures)})</li>"

    return "<h2>Findings</h2><ul>" + "".join(item(f) for f in findings(demo)) + "</ul>"


def _table(demo: Demo) -> str:
    heads = (
        "arm", "stations", "goodput<br>Mbit/s", "idle ping, ms<br>p50 / p95 / p99", "loaded ping, ms<br>p50 / p95 / p99",
        "RPM", "QoO", "loss", "packets<br>per frame", "sensors'<br>measure", "round<br>ms", "Jain index<br>of airtime", "emulator lag<br>p99, ms",
    )  # fmt: skip
    rows = "".join(_row(arm) for arm in demo.arms)
    head = "".join(f"<th{' class=name' if h == 'arm' else ''}>{h}</th>" for h in heads)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _row(arm: dict[str, Any]) -> str:
    reported = arm.get("level_reported")
    cells = (
        str(arm["stations"]),
        f"{arm['goodput_mbps']:.1f}",
        _quantiles(arm["idle_ping_ms"]),
        _quantiles(arm["ping_ms"]),
        _whole(arm.get("rpm")),
        _whole(arm.get("qoo")),
        f"{arm['loss']:.2%}",
        f"{arm['level']:.1f}",
        "–" if reported is None else f"{reported:.1f}",
        f"{arm['round_ms']:.2f}",
        f"{jain_airtime(arm):.3f}",
        f"{arm['lag_p99_ms']:.2f}",
    )
    name, attribute = escape(label(arm["name"])), ""
    if not arm["trusted"]:
        # Beside the name, which stays in sight however narrow the window is.
        name += f'<span class="warning">not to be trusted: the emulator was {arm["lag_p99_ms"]:.1f} ms late</span>'
        attribute = ' class="late"'
    return f'<tr{attribute}><td class="name">{name}</td>' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _whole(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"


def _quantiles(q: dict[str, float]) -> str:
    return f"{q['p50']:.1f} / {q['p95']:.1f} / {q['p99']:.1f}" if q["count"] else "–"


def _figure(stem: str, media_type: str, content: bytes) -> str:
    kind, _, stations = stem.partition("-")
    about = {"": "", "1": "One station. "}.get(stations, f"{stations} stations. ")
    source = f"data:{media_type};base64,{base64.b64encode(content).decode()}"
    caption = escape(about + CAPTIONS[kind])
    return f'<figure><img src="{source}" alt="{caption}"><figcaption>{caption}</figcaption></figure>'


def _reproduce(demo: Demo) -> str:
    e, s = demo.summary["environment"], demo.summary["settings"]
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(e["started_unix_s"]))
    revision = f", revision {escape(e['git_revision'])}" if e.get("git_revision") else ""
    return (
        "<h2>How to repeat it</h2><pre>make demo\n# or, with a seed of your own\n"
        f"airpace demo --out out/demo --seed {s['seed']}\npython -m airpace.demo_report out/demo</pre>"
        f"<p>This run: {when}, airpace {escape(e['airpace_version'])}{revision}, Linux {escape(e['kernel'])}, "
        f"{e['cpus']} processors, seed {s['seed']}. The seed fixes the draws of the access point, not the timing of the kernel: "
        "so figures vary by a few per cent from run to run.</p>"
    )
