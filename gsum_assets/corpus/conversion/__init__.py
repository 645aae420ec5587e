"""Plain or Markdown text of office, web, mail, caption and other files.

Choice of libraries (compared in November 2026 on the PDF, HTML and EPUB files of Debian's
documentation packages):

- `pypdfium2` (BSD-3/Apache-2.0, 9 MB) reads PDF: 193 pages in 0.2 s, lines in reading order, soft
  hyphens marked, page by page. `kreuzberg` 4.10 (MIT, 102 MB) took ten times as long, turned tables
  of contents into tables of dots, and ran lines of code together.
- `beautifulsoup4`, `lxml` and `markdownify` (MIT, BSD-3, MIT) turn HTML into Markdown; the
  navigation is left out here; `kreuzberg` kept it, with permalinks and a block of metadata.
- `mammoth` (BSD-2) turns DOCX into HTML, headings by their styles; `python-pptx` (MIT) reads PPTX.
- EPUB is a ZIP archive of HTML, and the standard library reads mail: neither needs a library.
- `webvtt-py` (MIT) reads WebVTT, SubRip and SubViewer captions, damaged ones included.
- `docutils` (public domain, BSD-2) turns reStructuredText into HTML; `pylatexenc` (MIT) turns LaTeX
  into text; `striprtf` (BSD-3) reads RTF.
- `python-calamine` (MIT, Rust) reads .xlsx, .xls and .ods; `openpyxl` had no release since 2024.
- An OpenDocument text is a ZIP archive of XML and a notebook is JSON: neither needs a library.
  `odfdo` (Apache-2.0) escapes characters of the text and cuts wide tables, `odfpy` had no release
  since 2020.
- `markitdown` (MIT) does the same, but depends on `magika` and the ONNX runtime.

Together they have 30 MB, little compared with torch's gigabyte, so they are required dependencies.
All of them are deterministic and work offline. PDFium and libxml2 are native code that a broken
file may crash, so `converter` runs them in a separate process (`worker`).
"""
