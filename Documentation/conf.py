# SPDX-License-Identifier: GPL-2.0
"""How Sphinx builds these pages; "make docs" calls it."""

project = "irdma for the Intel E810"
copyright = "the authors; GPL-2.0"  # pylint: disable=redefined-builtin
extensions = []
root_doc = "index"
exclude_patterns = []
html_theme = "alabaster"
html_copy_source = False
# Text is what it says: no typographic quotes in what people copy from here.
smartquotes = False
nitpicky = True
