"""Sphinx's configuration. Everything is local: no fonts, scripts or styles from elsewhere."""

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

project = "Ironcast"
author = copyright = project
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
# A block without a language is a shell's, or what it printed.
highlight_language = "none"

autodoc_typehints = "none"
# Docstrings here put code between single backticks.
default_role = "code"
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_use_ivar = True
napoleon_attr_annotations = False

nitpicky = True
# Types of other projects, and those that are private to the runtime.
nitpick_ignore_regex = [
    ("c:identifier", r"u?int\d+_t|size_t|uintptr_t|bool|bm_\w+"),
    ("py:class", r".*"),
]

html_theme = "furo"
html_title = "Ironcast"
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_last_updated_fmt = None
html_css_files = ["ironcast.css"]
html_static_path = ["static"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#8a3b12", "color-brand-content": "#8a3b12"},
    "dark_css_variables": {"color-brand-primary": "#f0a06a", "color-brand-content": "#f0a06a"},
}


def _plain(
    _app: Sphinx, _what: str, _name: str, _object: object, _options: object, lines: list[str]
) -> None:
    """Keeps |x| in a docstring what it is: an absolute value, not a substitution."""
    lines[:] = [line.replace("|", "\\|") for line in lines]


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_lexer("mlir", TextLexer)
    app.connect("autodoc-process-docstring", _plain)
