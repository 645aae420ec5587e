#!/usr/bin/env bash
# python-pptx 1.0.2 with lxml: what do `itertext()` and XPath's `text()` read from its elements?
#
# Guess: the elements of python-pptx are lxml elements, so that "".join(element.itertext()) is the
# text below an element, each run once, as it is for the same XML parsed by lxml alone.
# Behaviour: the text of a run appears three times: once for its a:t, and again for a:r and a:p.
# `itertext()` asks each element for its attribute `text`, and the classes of python-pptx for
# paragraphs and runs override it with all the text below them. XPath's `text()` is not affected.
# Source: pptx/oxml/text.py (properties `text` of CT_TextParagraph and CT_RegularTextRun), and
# lxml's documentation of custom element classes, which may override any attribute.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check python-pptx==1.0.2 lxml==6.1.3
cat > "$folder/try.py" <<'PY'
from lxml import etree
from pptx import Presentation
from pptx.util import Inches

deck = Presentation()
slide = deck.slides.add_slide(deck.slide_layouts[6])
box = slide.shapes.add_textbox(*[Inches(1)] * 4)
box.text_frame.text = "Rent"
own = box._element
plain = etree.fromstring(etree.tostring(own))
for name, element in (("python-pptx", own), ("lxml", plain)):
    texts = ["".join(element.itertext()), "".join(etree.ETXPath(".//text()")(element))]
    print(name, *("".join(text.split()) for text in texts))
PY
"$folder/venv/bin/python" "$folder/try.py" > "$folder/seen"
diff - "$folder/seen" <<'SEEN'
python-pptx RentRentRent Rent
lxml Rent Rent
SEEN
echo "as described"
