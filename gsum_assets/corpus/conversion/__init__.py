"""Plain or Markdown text of PDF, Word, PowerPoint, web, EPUB and mail files.

Which libraries, and why (tried in November 2026 on the PDF, HTML and EPUB files of Debian's
documentation packages):

- `pypdfium2` (BSD-3/Apache-2.0, 9 MB) reads PDF: 193 pages in 0.2 s, lines in reading order, soft
  hyphens marked, page by page. `kreuzberg` 4.10 (MIT, 102 MB) took ten times as long, turned tables
  of contents into tables of dots, and ran lines of code together.
- `beautifulsoup4`, `lxml` and `markdownify` (MIT, BSD-3, MIT) turn HTML into Markdown, of which the
  navigation is left out here; `kreuzberg` kept it, with permalinks and a block of metadata.
- `mammoth` (BSD-2) turns DOCX into HTML, headings by their styles; `python-pptx` (MIT) reads PPTX.
- EPUB is a ZIP archive of HTML and mail is read by the standard library, so that nothing is needed.
- `markitdown` (MIT) would have brought `magika` and the ONNX runtime for what these do.

Together 30 MB beside a torch of a gigabyte, so that they are plain dependencies. All of them are
deterministic and ask no network. PDFium and libxml2 are native code that a broken file may crash,
so that `converter` runs them in a process of its own (`worker`).
"""
