"""Pictures as SVG text: timelines of lanes, and graphs of boxes. They need no library, hold no script, and know no facts.

`lanes.Timeline` goes into `timeline.draw`, `graph.Graph` into `graph.draw_graph`; what comes out is a whole SVG
document that is readable on light and dark screens.
"""
