"""Plain or Markdown text of office, web, mail, caption and other files.

The libraries are deterministic and work offline; docs/documents.md says why these were chosen.
PDFium and libxml2 are native code that a broken file may crash, so `converter` runs them in a
separate process (`worker`).
"""
