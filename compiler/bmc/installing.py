"""Says how a user installs a Python package that a model or a frontend needs."""

from __future__ import annotations

# Modules whose package is called otherwise.
_OTHERWISE = {"PIL": "pillow", "cv2": "opencv-python", "sklearn": "scikit-learn"}


def hint(*packages: str) -> str:
    """Returns what to do where packages are missing: with pip, and in a BUILD file, where pip does not help."""
    labels = ", ".join(f'requirement("{package}")' for package in packages)
    return f"pip install {' '.join(packages)}; in a BUILD file, deps = [{labels}]"


def of_module(error: ImportError) -> str:
    """Returns the hint for a module that the user's code imports, "" if it was found and failed."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return ""
    top = error.name.partition(".")[0]
    return hint(_OTHERWISE.get(top, top.replace("_", "-")))
