"""The page as a widget, so that a notebook learns what is selected in it."""

from __future__ import annotations

from typing import Any

# The page is in a frame of its own, and sends its selection to whatever holds the frame.
_SCRIPT = """
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.sandbox = "allow-scripts allow-downloads";
  frame.srcdoc = model.get("html");
  frame.title = "Embedding";
  frame.style.cssText = `width: 100%; height: ${model.get("height")}px; border: 0`;
  const listen = ({ source, data }) => {
    if (source !== frame.contentWindow || data?.about !== "skmde selection") return;
    model.set("selection", data.items);
    model.save_changes();
  };
  window.addEventListener("message", listen);
  el.append(frame);
  return () => window.removeEventListener("message", listen);
}
export default { render };
"""


def make_widget(html: str, height: int) -> Any:
    """Return an ``anywidget.AnyWidget`` with the trait ``selection``, a list of indices."""
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise ImportError(
            "A widget needs anywidget, which is not installed. Install it with "
            "pip install anywidget, or show the page itself, without a widget."
        ) from error

    class ExplorerWidget(anywidget.AnyWidget):
        _esm = _SCRIPT
        html = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int().tag(sync=True)
        selection = traitlets.List(traitlets.Int()).tag(sync=True)

    return ExplorerWidget(html=html, height=height)
