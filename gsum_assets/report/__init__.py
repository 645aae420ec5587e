"""`gsum report`: the results on a corpus as one HTML file that needs no network.

- `stored.py` reads the tables, and raises errors for missing ones.
- `board.py`, `judges.py`, `questions.py` turn rows into contents of the page; pure.
- `page.py` combines them and renders `page.html` with `style.css`.

Documents, questions and answers are untrusted. Three measures make them harmless: Jinja2 escapes
every value, anchors are numbers that gsum assigns, and a Content-Security-Policy forbids scripts
and external resources. Plots are SVG images, in which scripts do not run.
"""
