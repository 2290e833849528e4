"""Data for pages of `explore`, and what reads the pages as their own script does."""

import base64
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd

N = 12
X = np.random.default_rng(0).normal(size=(N, 2))
MIXED = [1, "1", 1.0, None, float("nan"), "", True, b"raw", "é", pd.NA, np.datetime64("NaT"), 2.5]


class _Scripts(HTMLParser):
    """Collects the elements of a page as a browser sees them."""

    def __init__(self):
        super().__init__()
        self.tags, self.texts, self.scripts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_data(self, data):
        if self.cdata_elem == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        else:
            self.texts.append(data)


def parse(page):
    parser = _Scripts()
    parser.feed(page.html)
    return parser


def data_of(page):
    """What the page's script reads, with arrays for what is packed."""
    (text,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page.html)
    return _unpacked(json.loads(text))


def _unpacked(value):
    if isinstance(value, dict):
        if value.keys() == {"type", "base64"}:
            return np.frombuffer(base64.b64decode(value["base64"]), dtype=value["type"])
        return {key: _unpacked(entry) for key, entry in value.items()}
    return [_unpacked(entry) for entry in value] if isinstance(value, list) else value


def texts_of(column):
    """A column's text for each item."""
    if "codes" in column:
        return [column["texts"][code] for code in column["codes"]]
    return column["texts"]


def sheets_of(page):
    return re.findall(r'<script id="sheet-\d+" type="text/plain">(.*?)</script>', page.html)
