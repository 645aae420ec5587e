"""`gsum report`: what was measured on a corpus, as one HTML file that needs no network.

- `stored.py` reads the tables, and says what is missing.
- `board.py`, `costs.py`, `judges.py`, `questions.py` turn rows into what the page shows; pure.
- `page.py` puts them together and renders `page.html` with `style.css`.

Documents, questions and answers are untrusted. Three things keep them from doing harm: Jinja2
escapes every value, anchors are numbers of our own, and a Content-Security-Policy forbids scripts
and everything from elsewhere. Plots are SVG images, which run nothing either.
"""
