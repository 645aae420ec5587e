"""`gsum report`: the results on a corpus as one HTML file that needs no network.

Documents, questions and answers are untrusted: Jinja2 escapes every value, anchors are numbers that
gsum assigns, and a Content-Security-Policy forbids scripts and external resources.
"""
