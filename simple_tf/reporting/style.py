"""How the page looks: light and dark, wide and narrow, without any file beside it."""

CSS = """
:root { --ink: #1c2330; --soft: #5d6778; --paper: #ffffff; --ground: #f4f6f9; --line: #dfe4ec;
  --accent: #1f6feb; --good: #1a7f4b; --bad: #b3362b; --unsure: #8a6d1a; --spread: #cfe0fb;
  --c0: #1f6feb; --c1: #d9730d; --c2: #1a9c6b; --c3: #a04bd0; --c4: #c23b5e; --c5: #5f7285;
  --c6: #7d8a12; --c7: #0d8ea6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf2; --soft: #9aa5b8; --paper: #171c26;
  --ground: #0e121a; --line: #2b3342; --accent: #6ea8ff; --good: #5fd39a; --bad: #ff8d80;
  --unsure: #e0c265; --spread: #24406b; --c0: #6ea8ff; --c1: #f0a35a; --c2: #5fd39a;
  --c3: #c994f0; --c4: #f08aa6; --c5: #9fb0c2; --c6: #c3cf5a; --c7: #5cc8dc; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1320px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 6px; letter-spacing: -0.01em; }
h2 { font-size: 21px; margin: 44px 0 12px; }
h3 { font-size: 16px; margin: 0 0 2px; }
p { margin: 8px 0; max-width: 100ch; }
.lead { font-size: 19px; max-width: none; margin-bottom: 14px; }
.soft, figcaption, .note { color: var(--soft); font-size: 14px; }
.grid { display: grid; gap: 16px; grid-template-columns: repeat(auto-fill, minmax(330px, 1fr)); }
.wide { display: grid; gap: 16px; margin-top: 16px;
  grid-template-columns: repeat(auto-fill, minmax(520px, 1fr)); }
.card { background: var(--paper); border: 1px solid var(--line); border-radius: 12px;
  padding: 16px 18px; min-width: 0; margin: 0; }
.card.good { border-top: 4px solid var(--good); } .card.bad { border-top: 4px solid var(--bad); }
.card.unsure { border-top: 4px solid var(--unsure); }
.big { font-size: 34px; font-weight: 700; letter-spacing: -0.02em; line-height: 1.15; }
.big small { font-size: 16px; font-weight: 500; color: var(--soft); letter-spacing: 0; }
.pills { display: flex; flex-wrap: wrap; gap: 6px; margin: 8px 0 10px; }
.pill { border-radius: 99px; padding: 2px 10px; font-size: 13px; font-weight: 600;
  border: 1px solid currentColor; white-space: nowrap; }
.good .pill.good, .pill.good { color: var(--good); } .pill.bad { color: var(--bad); }
.pill.unsure { color: var(--unsure); } .pill.plain { color: var(--soft); }
.scroll { overflow-x: auto; background: var(--paper); border: 1px solid var(--line);
  border-radius: 12px; }
table { border-collapse: collapse; font-size: 14px; width: 100%; }
th, td { padding: 8px 12px; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
tr:last-child td { border-bottom: 0; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0;
  background: var(--paper); }
td.text, th.text { text-align: left; } td.wrap { white-space: normal; min-width: 260px; }
td.ours { font-weight: 700; }
th.group { text-align: center; border-left: 1px solid var(--line); }
td.edge, th.edge { border-left: 1px solid var(--line); }
svg { display: block; width: 100%; height: auto; font-family: inherit; }
svg text { fill: var(--ink); } svg .tick, svg .level-name { fill: var(--soft); font-size: 12px; }
svg .level-name { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
svg .axis { fill: var(--soft); font-size: 12.5px; }
svg .ours { font-size: 15px; font-weight: 700; fill: var(--accent); }
svg .grid { stroke: var(--line); } svg .scale { stroke: var(--soft); stroke-width: 2; }
svg .mark { stroke: var(--soft); stroke-width: 2; } svg .lead { stroke: var(--line); }
svg .spread { fill: var(--spread); } svg .paper { stroke: var(--c5); stroke-width: 2; }
svg .seed { fill: var(--accent); fill-opacity: 0.55; } svg .pole { stroke: var(--accent); }
svg .line { fill: none; stroke-width: 2.2; stroke-linejoin: round; }
svg .dashed { stroke-dasharray: 5 4; } svg .level { stroke: var(--soft); stroke-dasharray: 2 4; }
svg .interval { stroke-width: 6; stroke-opacity: 0.35; stroke-linecap: round; }
svg .band { stroke: none; fill-opacity: 0.15; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 14px; font-size: 13px; color: var(--soft);
  margin-top: 6px; }
.key i { display: inline-block; width: 14px; height: 4px; border-radius: 2px; margin: 0 6px 3px 0; }
.key.dashed i { opacity: 0.55; }
COLOURS
.strip { overflow-x: auto; border-radius: 8px; }
.strip img { display: block; max-width: none; height: 300px; image-rendering: pixelated; }
video, img.gif { width: 100%; border-radius: 8px; background: #000; }
figure { margin: 0; } figcaption { margin-top: 6px; }
details { margin-top: 8px; } summary { cursor: pointer; color: var(--accent); font-size: 14px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 14px; font-size: 14px;
  margin: 10px 0 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
code { font-size: 13px; overflow-wrap: anywhere; }
@media (max-width: 600px) { main { padding: 18px 12px 40px; } h1 { font-size: 24px; }
  .wide, .grid { grid-template-columns: minmax(0, 1fr); } .strip img { height: 220px; }
  .card { padding: 14px; } .lead { font-size: 16px; } dl { grid-template-columns: 1fr; }
  dd { margin-bottom: 6px; } }
@media print { body { background: #fff; } .card, .scroll { break-inside: avoid; } }
""".replace(
    "COLOURS",
    "".join(
        f"svg .line.c{i}, svg .interval.c{i} {{ stroke: var(--c{i}); }} "
        f"svg .dot.c{i}, svg .bar.c{i}, svg .band.c{i} {{ fill: var(--c{i}); }} "
        f".key i.c{i} {{ background: var(--c{i}); }}\n"
        for i in range(8)
    ),
)
